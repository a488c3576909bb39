import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiCallError, type ApiClient } from '@lintel/contract/client';
import { localFunctions, scriptKinds, serviceFunctions } from '@lintel/contract/script-functions';
import { HostError, type HostFunction } from '@lintel/script/host';
import type { Json } from '@lintel/script/values/json';
import { explainError } from '../api/explain-error.ts';
import type { Clock } from '../clock.ts';
import { type Data, toLiteral } from '../preprocess/literal.ts';

export const hostSignatures = { ...serviceFunctions, ...localFunctions };

export const hostConstants = (brand: string): Record<string, Json> => ({
  [brand.toUpperCase()]: '1',
  TYPES: [...scriptKinds],
});

export function createHostFunctions(client: ApiClient, clock: Clock): Record<string, HostFunction> {
  const names = Object.keys(serviceFunctions);
  const remote = names.map((name) => [name, callService(client, name)] as const);
  return { ...Object.fromEntries(remote), ...localHost(clock) };
}

/** Each call is a script of one expression, so that all rules and rights are the service's own. */
const callService =
  (client: ApiClient, name: string): HostFunction =>
  async (args, { signal }) => {
    const script = `${name}(${args.map((arg) => toLiteral(arg as Data)).join(', ')})`;
    try {
      return (await client('execute_script', { body: { script }, signal })).result;
    } catch (error) {
      if (error instanceof ApiCallError) throw new HostError(innermost(error.message));
      throw explainError(error, signal) ?? error;
    }
  };

/** The place in the one expression says nothing here; the place of the call is added again. */
const innermost = (message: string): string =>
  message.replace(/^Runtime error: /, '').replace(/ \(line \d+, position \d+\)$/, '');

const maxSleepMs = 30_000;

function localHost(clock: Clock): Record<string, HostFunction> {
  const sleep = async (ms: number, signal: AbortSignal) => {
    await wait(Math.min(Math.max(0, ms), maxSleepMs), undefined, { signal });
    return null;
  };
  return {
    assert: ([condition, message]) => {
      if (condition !== true)
        throw new HostError(message === undefined ? 'assertion failed' : String(message));
      return null;
    },
    sleep: ([seconds], { signal }) => sleep(Number(seconds) * 1000, signal),
    sleep_ms: ([ms], { signal }) => sleep(Number(ms), signal),
    ulid: () => ulid(clock.now()),
  };
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** 48 bits of time, 80 of chance. */
export function ulid(now: number): string {
  const time = Array.from({ length: 10 }, (_, i) => Math.floor(now / 32 ** (9 - i)) % 32);
  const chance = [...randomBytes(16)].map((byte) => byte % 32);
  return [...time, ...chance].map((digit) => alphabet[digit]).join('');
}
