import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { requireFittingConfig } from '../record-rules.ts';
import { deviceLookup, leadsToMetadata } from './device-address.ts';
import { httpOnce } from './http-once.ts';

const barred = [
  '169.254.169.254',
  'http://169.254.169.254/latest',
  'http://169.254.170.2',
  'http://0xa9fea9fe/',
  'http://2852039166:80/',
  'mqtt://0251.0376.0251.0376:1883',
  'http://[::ffff:169.254.169.254]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[fd00:ec2::254]/',
  'https://user@169.254.169.254/',
  '169.254.1.1:8080',
];

describe('the address of a device', () => {
  it.each(barred)('is not %s, neither when it is written nor when it is dialled', async (address) => {
    expect(leadsToMetadata(address)).toBe(true);
    const schema = Type.Object({ base_url: Type.String() });
    expect(() => requireFittingConfig(schema, { base_url: address })).toThrow('/config/base_url');
    if (!address.startsWith('http')) return;
    const deadlineMs = systemClock.monotonicMs() + 2000;
    expect(await httpOnce({ method: 'GET', url: address, clock: systemClock, deadlineMs })).toEqual({
      kind: 'not_sent',
      reason: 'the address is not allowed',
    });
  });

  it.each([
    '192.168.1.5',
    'http://10.0.0.2:8123',
    'hub.local',
    'http://[fd00::1]',
    '127.0.0.1',
    'door/169.254.1.1',
  ])('may be %s', (address) => {
    expect(leadsToMetadata(address)).toBe(false);
    const schema = Type.Object({ base_url: Type.String() });
    expect(() => requireFittingConfig(schema, { base_url: address })).not.toThrow();
  });

  it('by name is looked up as usual', async () => {
    const found = await new Promise((resolve) =>
      deviceLookup('localhost', { all: true }, (error, addresses) => resolve(error ?? addresses)),
    );
    expect(found).toContainEqual({ address: '127.0.0.1', family: 4 });
  });
});
