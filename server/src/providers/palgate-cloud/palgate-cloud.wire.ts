// wire-facts 5. The interface has no official documentation.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { done } from '../ops.ts';
import type { Delivery, DiscoveredDevice, OpResult } from '../provider.ts';
import type { HttpOutcome } from '../transport/http-once.ts';

export type TokenType = 'sms' | 'primary' | 'secondary';

const FIRST_BYTE: Record<TokenType, number> = { sms: 0x01, primary: 0x11, secondary: 0x21 };
const KEY_HEAD = Buffer.from('fad325728129', 'hex');
const KEY_TAIL = Buffer.from('3ab45a65', 'hex');

export interface TokenInput {
  readonly sessionTokenHex: string;
  readonly phone: string;
  readonly type: TokenType;
  readonly unixSeconds: number;
}

/** What a request is signed with. It lives about five seconds, so every request gets its own. */
export function deriveToken({ sessionTokenHex, phone, type, unixSeconds }: TokenInput): string {
  const phoneBytes = Buffer.alloc(6);
  phoneBytes.writeUIntBE(Number(phone), 0, 6);
  const stepKey = Buffer.concat([KEY_HEAD, phoneBytes, KEY_TAIL]);
  const decipher = createDecipheriv('aes-128-ecb', stepKey, null).setAutoPadding(false);
  const key = Buffer.concat([decipher.update(Buffer.from(sessionTokenHex, 'hex')), decipher.final()]);
  const block = Buffer.alloc(16);
  block[1] = 0x0a;
  block[2] = 0x0a;
  block.writeUInt32BE(unixSeconds + 2, 10);
  const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
  const sealed = Buffer.concat([cipher.update(block), cipher.final()]);
  return Buffer.concat([Buffer.of(FIRST_BYTE[type]), phoneBytes, sealed])
    .toString('hex')
    .toUpperCase();
}

export interface GateOutput {
  readonly gateId: string;
  readonly output: 1 | 2;
}

/** `4G600123456` is the first output of a gate, `4G600123456:2` the second. */
export function parseGate(externalId: string | null): GateOutput | null {
  const match = /^([^:\s/?#]{1,64})(:2)?$/.exec(externalId ?? '');
  return match?.[1] === undefined ? null : { gateId: match[1], output: match[2] === undefined ? 1 : 2 };
}

export const openPath = ({ gateId, output }: GateOutput): string =>
  `device/${encodeURIComponent(gateId)}/open-gate?openBy=100&outputNum=${output}`;

export const checkPath = (unixSeconds: number): string => `user/check-token?ts=${unixSeconds}&ts_diff=0`;

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'the cloud does not let this account open the gate',
  401: 'the cloud does not accept the token: wrong token, wrong type, or the clock is off',
  403: 'the cloud does not let this account in',
  404: 'the cloud does not know this gate',
  429: 'the cloud wants fewer calls',
};

export function readOpenReply(outcome: HttpOutcome): Delivery {
  if (outcome.kind !== 'response') return outcome;
  const refusal = REFUSALS[outcome.status];
  if (refusal !== undefined) return { kind: 'refused', reason: refusal };
  if (outcome.status !== 200) return { kind: 'unknown', reason: `the cloud answered ${outcome.status}` };
  const reply = parseObject(outcome.body);
  const failed = reply.err || reply.error;
  if (!failed && reply.status === 'ok') return { kind: 'delivered', observed: null };
  if (failed || typeof reply.status === 'string')
    return { kind: 'refused', reason: 'the cloud did not open the gate' };
  return { kind: 'unknown', reason: 'the answer of the cloud cannot be read' };
}

export const devicesPath = 'devices/';

export interface Gate {
  readonly id: string;
  readonly name: string;
  readonly outputs: readonly (1 | 2)[];
  readonly admin: boolean;
  /** Such a gate can not be opened through the cloud. */
  readonly local_only: boolean;
}

export function readGates(outcome: HttpOutcome): OpResult<Gate[]> {
  if (outcome.kind !== 'response') return outcome;
  const refusal = REFUSALS[outcome.status];
  if (refusal !== undefined) return { kind: 'refused', reason: refusal };
  const { err, error, status, devices } = parseObject(outcome.body);
  if (outcome.status !== 200 || err || error || status !== 'ok' || !Array.isArray(devices))
    return { kind: 'unknown', reason: `the cloud answered ${outcome.status}, no list of gates` };
  return done(devices.flatMap(gateOf));
}

function gateOf(record: unknown): Gate[] {
  const { id, name1, output1, output2, admin, localOnly } = objectOf(record);
  if (typeof id !== 'string' || parseGate(id) === null) return [];
  const name = typeof name1 === 'string' && name1 !== '' ? name1 : id;
  const outputs = [...(output1 === false ? [] : [1 as const]), ...(output2 === true ? [2 as const] : [])];
  return [{ id, name, outputs, admin: admin === true, local_only: localOnly === true }];
}

/** The second output of a gate is a device of its own, as `id:2`. */
export function discoveredGates(gates: readonly Gate[]): DiscoveredDevice[] {
  return gates.flatMap(({ id, name, outputs }) =>
    outputs.map((output) =>
      output === 1
        ? { externalId: id, name, channelCount: 1 }
        : { externalId: `${id}:2`, name: `${name} (2)`, channelCount: 1 },
    ),
  );
}

export function isTokenValid(outcome: HttpOutcome): boolean {
  return (
    outcome.kind === 'response' && outcome.status === 200 && parseObject(outcome.body).msg === 'token valid'
  );
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return objectOf(value);
  } catch {
    return {};
  }
}

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
