import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from './config.ts';

const whole = {
  S3_ENDPOINT: 'https://s3.example/',
  S3_BUCKET: 'pictures',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'canary-secret',
};

const faultsOf = (env: Record<string, string | undefined>): string => {
  try {
    readConfig(env);
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return String(error);
  }
};

describe('settings of the object store', () => {
  it('are none, or all of them; the secret may stand in a file', () => {
    expect(readConfig({}).s3).toBeNull();
    expect(readConfig(whole).s3).toMatchObject({ endpoint: 'https://s3.example', region: 'us-east-1' });
    const dir = mkdtempSync(join(tmpdir(), 'lintel-config-'));
    writeFileSync(join(dir, 'secret'), 'from a file\n');
    const { s3 } = readConfig({
      ...whole,
      S3_SECRET_ACCESS_KEY: undefined,
      S3_SECRET_ACCESS_KEY_FILE: join(dir, 'secret'),
    });
    rmSync(dir, { recursive: true });
    expect(s3?.secretAccessKey.reveal()).toBe('from a file');
  });

  it.each<[string, Record<string, string | undefined>, RegExp]>([
    ['a bucket alone', { S3_BUCKET: 'pictures' }, /S3_ENDPOINT is missing[\s\S]*S3_ACCESS_KEY_ID is missing/],
    ['no secret', { ...whole, S3_SECRET_ACCESS_KEY: undefined }, /one of S3_SECRET_ACCESS_KEY/],
    ['two secrets', { ...whole, S3_SECRET_ACCESS_KEY_FILE: 'x' }, /one of S3_SECRET_ACCESS_KEY/],
    [
      'no such file',
      { ...whole, S3_SECRET_ACCESS_KEY: undefined, S3_SECRET_ACCESS_KEY_FILE: '/no/file' },
      /read/,
    ],
    ['an odd endpoint', { ...whole, S3_ENDPOINT: 's3.example' }, /S3_ENDPOINT must/],
    ['a credential in the endpoint', { ...whole, S3_ENDPOINT: 'https://a:b@s3.example' }, /S3_ENDPOINT must/],
    ['an odd bucket', { ...whole, S3_BUCKET: 'Up/..' }, /S3_BUCKET must/],
  ])('are refused: %s', (_, env, message) => {
    expect(faultsOf(env)).toMatch(message);
    expect(faultsOf(env)).not.toContain('canary');
  });
});

it('the list of own targets is checked at the start', () => {
  expect(readConfig({ EGRESS_ALLOW: '10.0.0.0/8 printer.lan' }).egressAllow.hasAddress('10.1.1.1')).toBe(
    true,
  );
  expect(readConfig({}).egressAllow.hasHost('printer.lan')).toBe(false);
  expect(faultsOf({ EGRESS_ALLOW: '10.0.0.0/99' })).toMatch(/EGRESS_ALLOW must/);
});
