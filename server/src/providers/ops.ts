import { Type } from 'typebox';
import type { Connection, Health, Op, OpDefinition, OpResult, ProviderManifest } from './provider.ts';

export const noInput = Type.Object({}, { additionalProperties: false });

const connectionTest: OpDefinition = {
  id: 'connection.test',
  label: { en: 'Test the connection' },
  description:
    'How the connection is now, asked at the far side where that moves nothing: health and a message.',
  input: noInput,
  effect: 'read',
};

/** All ops of a provider, with the one that every provider has. */
export const opsOf = ({ ops = [] }: ProviderManifest): readonly OpDefinition[] => [connectionTest, ...ops];

/** Undefined for an op that the connection does not have. */
export function opOf(connection: Connection, id: string): Op | undefined {
  const { ops = {} } = connection;
  if (Object.hasOwn(ops, id)) return ops[id];
  return id === connectionTest.id ? async () => tested(connection.health()) : undefined;
}

export const done = <T>(result: T): OpResult<T> => ({ kind: 'done', result });

const messages: Readonly<Record<Health, string>> = {
  ok: 'connected',
  reduced: 'connected in part, or not yet',
  error: 'not connected',
};

/** The result of `connection.test`. That the far side is away is an answer, not a failure of the test. */
export const tested = (health: Health, message: string = messages[health]): OpResult =>
  done({ health, message });

/** For a test that only failed to get through. */
export const testedFailure = ({ kind, reason }: Failure): OpResult =>
  tested('error', kind === 'not_sent' ? `not reached: ${reason}` : reason);

export type Failure = Exclude<OpResult, { kind: 'done' }>;

/** Passes a failure on, and makes a result of the rest. */
export function mapDone<T, U>(found: OpResult<T>, make: (result: T) => U): OpResult<U> {
  return found.kind === 'done' ? done(make(found.result)) : found;
}
