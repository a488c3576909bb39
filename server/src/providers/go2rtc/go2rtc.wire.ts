// wire-facts 8.
import { done } from '../ops.ts';
import type { Health, OpResult } from '../provider.ts';
import type { HttpOutcome } from '../transport/http-once.ts';

export const STREAMS_PATH = 'api/streams';

/** The relay is well when it lists its streams; one that asks for a login is there but of no use. */
export function healthFrom(outcome: HttpOutcome): Health {
  if (outcome.kind !== 'response' || outcome.status >= 500) return 'error';
  if (outcome.status !== 200) return 'reduced';
  return streamsIn(outcome.body) === null ? 'error' : 'ok';
}

export interface Stream {
  readonly name: string;
  readonly sources: number;
  readonly viewers: number;
}

/** Only names and numbers: the address of a source holds the password of the recorder. */
export function readStreams(outcome: HttpOutcome): OpResult<Stream[]> {
  if (outcome.kind !== 'response') return outcome;
  if (outcome.status === 401) return { kind: 'refused', reason: 'the relay asks for a login' };
  const streams = outcome.status === 200 ? streamsIn(outcome.body) : null;
  if (streams === null) return { kind: 'unknown', reason: `the relay answered ${outcome.status}, no list` };
  return done(
    Object.entries(streams).map(([name, stream]) => ({
      name,
      sources: sizeOf(stream, 'producers'),
      viewers: sizeOf(stream, 'consumers'),
    })),
  );
}

function streamsIn(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

function sizeOf(stream: unknown, member: string): number {
  const list: unknown = typeof stream === 'object' && stream !== null ? Reflect.get(stream, member) : null;
  return Array.isArray(list) ? list.length : 0;
}
