import type { Leases } from '../cluster/leases.ts';
import type { NodeBus } from '../cluster/node-bus.ts';
import { commandAnswer, moved, type NodeAnswer, type NodeCommand } from '../cluster/node-requests.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Command, Delivery, EntityBinding, Verb } from '../providers/provider.ts';
import type { Usable } from './connections.ts';
import { type Dispatch, notOurs } from './dispatch.ts';
import type { LinkRow } from './link.store.ts';
import type { Providers } from './providers.ts';

export type Errand = Omit<Command, 'signal'>;

export interface Deliveries {
  /** Sends a command once, from the node that holds the connection. It does not throw. */
  deliver(link: LinkRow, verb: Verb, errand: Errand): Promise<Delivery>;
  /** For another node, under the lease it saw. */
  answer(command: NodeCommand): Promise<NodeAnswer>;
}

export interface DeliveriesDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly providers: Pick<Providers, 'use' | 'takeUp'>;
  readonly dispatch: Dispatch;
  readonly leases: Leases;
  readonly bus: Pick<NodeBus, 'request'>;
}

/** Between two looks for the owner of a connection that is on its way from one node to another. */
const lookAgainMs = 100;
/** What the owner's own deadline needs to come back. */
const answerMarginMs = 250;
const noConnection: Delivery = { kind: 'not_sent', reason: 'there is no connection to this integration' };
/** By identity, as `notOurs`. */
const notBrought: Delivery = { kind: 'not_sent', reason: 'the connection could not be looked up' };
const tooLate: Delivery = { kind: 'not_sent', reason: 'the deadline has passed' };

export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  return {
    deliver: (link, verb, errand) => untilTaken(deps, link, verb, errand),
    answer: (command) => answer(deps, command),
  };
}

/** INVARIANT: only what provably did not leave comes around again. */
async function untilTaken(
  deps: DeliveriesDeps,
  link: LinkRow,
  verb: Verb,
  errand: Errand,
): Promise<Delivery> {
  const sinceMs = deps.clock.monotonicMs();
  for (;;) {
    const delivery = await tryOnce(deps, link, verb, errand, deps.clock.monotonicMs() - sinceMs).catch(
      // Neither a provider nor a bus throws, so it happened before the command: the database, most likely.
      (error: unknown) => {
        deps.logger.warn({ err: error }, 'a command could not be brought to its connection');
        return notBrought;
      },
    );
    if (delivery !== notOurs && delivery !== notBrought) return delivery;
    const remaining = errand.deadlineMs - deps.clock.monotonicMs();
    if (remaining <= 0) return delivery;
    await deps.leases.changed(Math.min(lookAgainMs, remaining));
  }
}

async function tryOnce(
  deps: DeliveriesDeps,
  link: LinkRow,
  verb: Verb,
  errand: Errand,
  waitedMs: number,
): Promise<Delivery> {
  const here = await deps.providers.use(link, errand.entity, (usable) =>
    sendHere(deps, usable, verb, errand),
  );
  if (here === 'none') return noConnection;
  if (here !== 'elsewhere') return here;
  const owner = await deps.leases.ownerOf(link.integrationId);
  if (owner === null) return (await deps.providers.takeUp(link, waitedMs)) ? notOurs : noConnection;
  const notAfterMs = deps.leases.databaseMs();
  const remaining = errand.deadlineMs - deps.clock.monotonicMs();
  if (owner.nodeId === deps.leases.nodeId || notAfterMs === null || remaining <= 0) return notOurs;
  const { orgId, integrationId, providerType, config } = link;
  const { intentId, pulseSeconds } = errand;
  const command: NodeCommand = {
    orgId,
    integrationId,
    providerType,
    config,
    epoch: owner.epoch,
    notAfterMs: notAfterMs + remaining,
    verb,
    intentId,
    entity: bindingOf(errand.entity),
    pulseSeconds,
  };
  const withinMs = remaining + answerMarginMs;
  const answered = commandAnswer(await deps.bus.request(owner, JSON.stringify(command), withinMs));
  return answered.kind === 'moved' ? notOurs : answered;
}

function sendHere(deps: DeliveriesDeps, usable: Usable, verb: Verb, errand: Errand): Promise<Delivery> {
  return deps.dispatch.send(usable.connection, verb, errand, usable.untilMs);
}

async function answer(deps: DeliveriesDeps, command: NodeCommand): Promise<NodeAnswer> {
  const { leases, clock } = deps;
  const databaseMs = leases.databaseMs();
  const untilMs = () => leases.usableUntilMs(command.integrationId, command.epoch);
  if (databaseMs === null || untilMs() <= clock.monotonicMs()) return moved;
  // By the time of the database: what waited in the buffers of a node that stood still has grown old.
  const remaining = command.notAfterMs - databaseMs;
  if (remaining <= 0) return tooLate;
  const { intentId, entity, pulseSeconds, verb } = command;
  const errand = { intentId, entity, pulseSeconds, deadlineMs: clock.monotonicMs() + remaining };
  try {
    const here = await deps.providers.use(command, entity, (usable) =>
      sendHere(deps, { ...usable, untilMs }, verb, errand),
    );
    if (here === 'none') return noConnection;
    return here === 'elsewhere' || here === notOurs ? moved : here;
  } catch (error) {
    // As in `untilTaken`: it was not sent, and the other node looks again.
    deps.logger.warn({ err: error }, 'a command of another node could not be brought to its connection');
    return moved;
  }
}

/** What is known of a target beyond this is nobody else's business. */
function bindingOf(entity: EntityBinding): EntityBinding {
  const { entityId, entityType, externalId, metadata, deviceId, deviceExternalId, deviceMetadata } = entity;
  return { entityId, entityType, externalId, metadata, deviceId, deviceExternalId, deviceMetadata };
}
