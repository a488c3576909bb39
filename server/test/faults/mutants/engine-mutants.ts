import { setTimeout as delay } from 'node:timers/promises';
import type { SqlQuery } from '../../../src/db/sql.ts';
import type { EngineDeps } from '../../../src/engine/engine.ts';
import type { NewIntent } from '../../../src/engine/intents.store.ts';

/** Engines with a fault that somebody might build one day. Each must be caught by the test that it belongs to. */
export type EngineMutant = (deps: EngineDeps) => EngineDeps;

const delivering = (deps: EngineDeps, deliver: EngineDeps['deliveries']['deliver']): EngineDeps => ({
  ...deps,
  deliveries: { ...deps.deliveries, deliver },
});
const opening = (deps: EngineDeps, open: EngineDeps['intents']['open']): EngineDeps => ({
  ...deps,
  intents: { open },
});

/** The command first, the record of it afterwards. */
const commandBeforeT1: EngineMutant = (deps) => {
  const unwritten = new Map<string, NewIntent>();
  return {
    ...deps,
    intents: {
      open: async (intent) => {
        unwritten.set(intent.id, intent);
        return { kind: 'opened' };
      },
    },
    outcomes: {
      async write(finished) {
        const intent = unwritten.get(finished.id);
        if (intent !== undefined) await deps.intents.open(intent);
        return await deps.outcomes.write(finished);
      },
    },
  };
};

/** "It did not answer, so let us try once more." */
const resendsWhenUnknown: EngineMutant = (deps) =>
  delivering(deps, async (link, verb, errand) => {
    const first = await deps.deliveries.deliver(link, verb, errand);
    return first.kind === 'unknown' ? await deps.deliveries.deliver(link, verb, errand) : first;
  });

const ignoresKeys: EngineMutant = (deps) =>
  opening(deps, (intent) => deps.intents.open({ ...intent, idempotencyKey: null }));

/** One namespace of keys for all callers. */
const sharesKeys: EngineMutant = (deps) =>
  opening(deps, (intent) =>
    deps.intents.open({ ...intent, principalId: 'anybody', fingerprint: Buffer.from(intent.entityId) }),
  );

const ignoresDeadlines: EngineMutant = (deps) =>
  delivering(deps, (link, verb, errand) =>
    deps.deliveries.deliver(link, verb, { ...errand, deadlineMs: errand.deadlineMs + 60_000 }),
  );

/** A command that could not be sent is kept, and goes out when the link is back. */
const sendsLater: EngineMutant = (deps) =>
  delivering(deps, async (link, verb, errand) => {
    const first = await deps.deliveries.deliver(link, verb, errand);
    const again = async (tries: number): Promise<void> => {
      await delay(200);
      const deadlineMs = deps.clock.monotonicMs() + 5_000;
      const later = await deps.deliveries.deliver(link, verb, { ...errand, deadlineMs });
      if (later.kind === 'not_sent' && tries > 0) await again(tries - 1);
    };
    if (first.kind === 'not_sent') void again(500);
    return first;
  });

/** Nobody closes what the service opened for a time. */
const forgetsToClose: EngineMutant = (deps) =>
  opening(deps, (intent) => deps.intents.open({ ...intent, closeAfterMs: null }));

/** A lost acknowledgement of T1 is taken for a good one. */
const assumesT1: EngineMutant = (deps) =>
  opening(deps, (intent) => deps.intents.open(intent).catch(() => ({ kind: 'opened' }) as const));

/** A failed T2 is not written again, and the caller hears what the device said. */
const assumesT2: EngineMutant = (deps) => ({
  ...deps,
  outcomes: {
    async write(finished) {
      const query: SqlQuery = {
        text: 'select out_state from finish_intents($1)',
        values: [JSON.stringify([finishedRow(finished)])],
      };
      await deps.db.direct.query(query).catch(() => undefined);
      return finished.state;
    },
  },
});

function finishedRow(finished: Parameters<EngineDeps['outcomes']['write']>[0]): object {
  const { orgId, releaseKey, statusSource, ...rest } = finished;
  const event = { event_id: finished.id.split('').reverse().join(''), place: 0 };
  return { ...rest, ...event, org_id: orgId, release_key: releaseKey, status_source: statusSource };
}

/** A service that answers from memory while there is no database. */
const opensWithoutDatabase: EngineMutant = (deps) => ({
  ...assumesT1(deps),
  outcomes: { write: (finished) => deps.outcomes.write(finished).catch(() => finished.state) },
});

export const engineMutants = {
  'command before T1': commandBeforeT1,
  'resends when unknown': resendsWhenUnknown,
  'ignores keys': ignoresKeys,
  'shares keys': sharesKeys,
  'ignores deadlines': ignoresDeadlines,
  'sends later': sendsLater,
  'forgets to close': forgetsToClose,
  'assumes T1': assumesT1,
  'assumes T2': assumesT2,
  'opens without database': opensWithoutDatabase,
} satisfies Record<string, EngineMutant>;

export type EngineMutantName = keyof typeof engineMutants;
