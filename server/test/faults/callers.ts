import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ulid } from '../../src/kernel/ulid.ts';
import type { Wish } from './oracle.ts';

export interface Answer {
  /** 0: none came. */
  readonly status: number;
  readonly body: { readonly code?: string; readonly attempt_id?: string; readonly replayed?: boolean };
}

/** A connection of its own for each request: nothing below us repeats one. */
export function openDoor(
  port: number,
  token: string,
  entityId: string,
  key: string,
  payload: object = {},
): Promise<Answer> {
  return new Promise((resolve) => {
    const lost = (): void => resolve({ status: 0, body: {} });
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    };
    const path = `/api/v1/entities/${entityId}/actions/open`;
    const options = { host: '127.0.0.1', port, path, method: 'POST', agent: false, headers, timeout: 20_000 };
    const request = httpRequest(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', lost);
      response.on('close', () => {
        if (!response.complete) return lost();
        const isJson = String(response.headers['content-type']).includes('json');
        resolve({ status: response.statusCode ?? 0, body: isJson ? JSON.parse(text) : {} });
      });
    });
    request.on('timeout', () => request.destroy()).on('error', lost);
    request.end(JSON.stringify(payload));
  });
}

/** As a careful client: the same request with the same key, until it is told what became of it. */
export interface Callers {
  /** Every wish so far. */
  readonly wishes: readonly Wish[];
  /** The last word for one wish. */
  ask(): Promise<Answer>;
  /** Wishes one after the other, `many` at a time, until told to stop. */
  keepAsking(many: number, pauseMs?: number): () => Promise<Answer[]>;
  /** How many have no last word yet. */
  waiting(): number;
  settled(): Promise<void>;
  /** Nobody asks again for what has no last word yet. */
  giveUp(): Promise<void>;
}

const isUndecided = ({ status, body }: Answer): boolean =>
  status === 0 || status === 503 || body.code === 'idempotency_key_in_flight';

const retryMs = 250;

/** `restMs`: how long a door has no other wish after an unknown outcome, while its command may still be under way. */
export function createCallers(
  open: (entityId: string, key: string) => Promise<Answer>,
  doors: readonly string[],
  restMs = 0,
): Callers {
  const wishes: (Wish & { succeeded: string[] })[] = [];
  const running = new Set<Promise<unknown>>();
  const free = [...doors];
  let hasGivenUp = false;
  const ask = async (): Promise<Answer> => {
    const entityId = free.shift();
    if (entityId === undefined) throw new Error('every door is taken');
    const wish = { key: ulid(), entityId, at: Date.now(), succeeded: [] as string[] };
    wishes.push(wish);
    for (;;) {
      const answer = await open(entityId, wish.key);
      if (answer.status === 200) wish.succeeded.push(answer.body.attempt_id ?? '');
      if (isUndecided(answer) && !hasGivenUp) await delay(retryMs);
      else {
        if (restMs > 0 && answer.body.code === 'outcome_unknown')
          setTimeout(() => free.push(entityId), restMs);
        else free.push(entityId);
        return answer;
      }
    }
  };
  const watched = (): Promise<Answer> => {
    const job = ask();
    running.add(job);
    return job.finally(() => running.delete(job));
  };
  const settled = async (): Promise<void> => void (await Promise.all(running));
  return {
    wishes,
    ask: watched,
    keepAsking(many, pauseMs = 0) {
      let on = true;
      const answers: Answer[] = [];
      const work = async (): Promise<void> => {
        while (on) {
          answers.push(await watched());
          if (pauseMs > 0) await delay(pauseMs);
        }
      };
      const workers = Array.from({ length: many }, work);
      return async () => {
        on = false;
        await Promise.all(workers);
        return answers;
      };
    },
    waiting: () => running.size,
    settled,
    giveUp: () => {
      hasGivenUp = true;
      return settled();
    },
  };
}
