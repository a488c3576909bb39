import type {
  Command,
  Composition,
  Connection,
  Delivery,
  EntityBinding,
  Health,
  Link,
  ProviderContext,
  ProviderManifest,
  Relay,
} from './provider.ts';
import { lightSeconds } from './site-manifest.ts';

type Failure = Exclude<Delivery, { kind: 'delivered' }>;

interface Site {
  readonly link: Link;
  readonly context: ProviderContext;
  readonly compositionOf: (device: Record<string, unknown>) => Composition | null;
}

/** While others wait for their turn, an opener that does not answer leaves them this much of the time. */
const keptForTheNextMs = 1_000;

/** A site touches no hardware: every command goes on, as a command of its own, to an entity of another integration. */
export function connectSite(manifest: ProviderManifest, link: Link, context: ProviderContext): Connection {
  const site: Site = { link, context, compositionOf: (device) => manifest.composition?.(device) ?? null };
  let bound: readonly EntityBinding[] = [];
  return {
    actions: {
      open: (command) => withParts(site, command, open),
      close: (command) => withParts(site, command, close),
    },
    health: () => (context.relay === undefined ? 'error' : healthOf(site, context.relay, bound)),
    bind: (entities) => {
      bound = entities;
    },
    close: async () => undefined,
  };
}

type Work = (site: Site, relay: Relay, command: Command, parts: Composition) => Promise<Delivery>;

async function withParts(site: Site, command: Command, work: Work): Promise<Delivery> {
  const { clock, relay } = site.context;
  if (clock.monotonicMs() >= command.deadlineMs)
    return { kind: 'not_sent', reason: 'the deadline has passed' };
  const parts = site.compositionOf(command.entity.deviceMetadata);
  if (relay === undefined || parts === null)
    return { kind: 'not_sent', reason: 'the device has nothing to open' };
  return work(site, relay, command, parts);
}

const open: Work = async (site, relay, command, { openers, lights }) => {
  const delivery = await firstThatOpens(
    site,
    relay,
    command,
    openers.map((opener) => opener.id),
  );
  // Nobody waits for the lights: they are no part of the answer.
  if (delivery.kind === 'delivered') {
    for (const { id } of lights) {
      void relay.send(command, id, 'open', lightSeconds(site.link.config, command.entity.deviceMetadata, id));
    }
  }
  return delivery;
};

/** The next one is tried only where the last one provably did not move: two openers may be of one door. */
async function firstThatOpens(
  { context: { clock } }: Site,
  relay: Relay,
  command: Command,
  openers: readonly string[],
): Promise<Delivery> {
  const failures: Failure[] = [];
  for (const [index, entityId] of openers.entries()) {
    const deadlineMs = shareOf(command.deadlineMs, clock.monotonicMs(), openers.length - index - 1);
    const delivery = await relay.send({ ...command, deadlineMs }, entityId, 'open', command.pulseSeconds);
    if (delivery?.kind === 'delivered' || delivery?.kind === 'unknown') return delivery;
    if (delivery !== null) failures.push(delivery);
  }
  return combined(failures, 'no opener can be used');
}

function shareOf(deadlineMs: number, nowMs: number, waiting: number): number {
  const fairMs = nowMs + (deadlineMs - nowMs) / (waiting + 1);
  return Math.max(fairMs, deadlineMs - waiting * keptForTheNextMs);
}

/** Whichever opened it: all that can be closed are. Closing twice does no harm. */
const close: Work = async (_site, relay, command, { openers }) => {
  const answers = await Promise.all(openers.map(({ id }) => relay.send(command, id, 'close', null)));
  const deliveries = answers.filter((answer) => answer !== null);
  const failures = deliveries.filter((delivery) => delivery.kind !== 'delivered');
  const closed = deliveries.filter((delivery) => delivery.kind === 'delivered');
  if (failures.length > 0 && closed.length > 0)
    return { kind: 'unknown', reason: `not every opener was closed: ${failures[0]?.reason}` };
  if (failures.length > 0) return combined(failures, '');
  const allSeen = closed.length > 0 && closed.every((delivery) => delivery.observed === 'closed');
  return { kind: 'delivered', observed: allSeen ? 'closed' : null };
};

/** What was refused was sent, so it is not `not_sent` any more. */
function combined(failures: readonly Failure[], otherwise: string): Failure {
  const doubtful =
    failures.find(({ kind }) => kind === 'unknown') ?? failures.find(({ kind }) => kind === 'refused');
  if (doubtful !== undefined) return doubtful;
  const waits = failures.flatMap((failure) =>
    failure.kind === 'not_sent' && failure.retryAfterMs !== undefined ? [failure.retryAfterMs] : [],
  );
  const reason = failures.at(-1)?.reason ?? otherwise;
  return { kind: 'not_sent', reason, ...(waits.length > 0 && { retryAfterMs: Math.min(...waits) }) };
}

function healthOf({ compositionOf }: Site, relay: Relay, bound: readonly EntityBinding[]): Health {
  const openers = new Set(
    bound.flatMap((entity) => compositionOf(entity.deviceMetadata)?.openers.map(({ id }) => id) ?? []),
  );
  const healths = [...openers].map((id) => relay.health(id));
  if (healths.every((health) => health === 'ok')) return 'ok';
  return healths.every((health) => health === 'error') ? 'error' : 'reduced';
}
