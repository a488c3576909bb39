// Settings of what the service reaches out to. Read by config.ts, which alone sees the environment.
import { readFileSync } from 'node:fs';
import { type EgressAllow, parseEgressAllow } from './egress/egress-allow.ts';
import { Secret } from './kernel/secret.ts';
import type { S3Settings } from './media/s3-object-store.ts';

type Env = Readonly<Record<string, string | undefined>>;

const required = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID'] as const;

/** Null: images are kept in the data directory. Half a set of settings is a fault, not a choice. */
export function objectStorage(env: Env, faults: string[]): S3Settings | null {
  if (!Object.keys(env).some((name) => name.startsWith('S3_'))) return null;
  for (const name of required) if (env[name] === undefined) faults.push(`${name} is missing`);
  const endpoint = env.S3_ENDPOINT ?? '';
  const isUsable = URL.canParse(endpoint) && /^https?:/.test(endpoint) && !endpoint.includes('@');
  if (endpoint !== '' && !isUsable) faults.push('S3_ENDPOINT must be an http or https address');
  const bucket = env.S3_BUCKET ?? '';
  if (bucket !== '' && !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    faults.push('S3_BUCKET must be 3 to 63 lower-case letters, digits, dots and hyphens');
  return {
    endpoint: endpoint.replace(/\/+$/, ''),
    bucket,
    region: env.S3_REGION ?? 'us-east-1',
    accessKeyId: env.S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: storageSecret(env, faults),
  };
}

function storageSecret(env: Env, faults: string[]): Secret {
  const path = env.S3_SECRET_ACCESS_KEY_FILE;
  const given = env.S3_SECRET_ACCESS_KEY;
  if ((path === undefined) === (given === undefined))
    faults.push('one of S3_SECRET_ACCESS_KEY and S3_SECRET_ACCESS_KEY_FILE must be set');
  if (path === undefined) return new Secret(given ?? '');
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (text === '') faults.push('S3_SECRET_ACCESS_KEY_FILE names an empty file');
    return new Secret(text);
  } catch {
    faults.push('S3_SECRET_ACCESS_KEY_FILE names a file that can not be read');
    return new Secret('');
  }
}

export function egressAllow(env: Env, faults: string[]): EgressAllow {
  const allow = parseEgressAllow(env.EGRESS_ALLOW ?? '');
  if (allow !== null) return allow;
  faults.push(
    'EGRESS_ALLOW must be host names, addresses and ranges such as 10.0.0.0/8, separated by commas',
  );
  return { hasHost: () => false, hasAddress: () => false };
}
