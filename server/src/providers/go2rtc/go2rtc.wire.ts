// wire-facts 8.
import type { Health } from '../provider.ts';
import type { HttpOutcome } from '../transport/http-once.ts';

export const STREAMS_PATH = 'api/streams';

/** The relay is well when it lists its streams; one that asks for a login is there but of no use. */
export function healthFrom(outcome: HttpOutcome): Health {
  if (outcome.kind !== 'response' || outcome.status >= 500) return 'error';
  if (outcome.status !== 200) return 'reduced';
  return isStreamList(outcome.body) ? 'ok' : 'error';
}

function isStreamList(body: string): boolean {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
