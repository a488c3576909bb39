import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import type { Command, Delivery, Verb } from '../provider.ts';
import { awaitConfirmation } from '../transport/confirmation.ts';
import type { HttpOutcome } from '../transport/http-once.ts';
import {
  confirms,
  failureOf,
  failureOfCode,
  type HubEntity,
  type HubState,
  isMomentary,
  objectOf,
  observedIn,
  obstacleOf,
  parseHubEntity,
  parseJson,
  parseState,
  readState,
  serviceFor,
} from './homeassistant.wire.ts';
import type { HubSocket } from './hub-socket.ts';

export interface HubDeps {
  readonly clock: Clock;
  readonly socket: HubSocket;
  readonly get: (path: string, deadlineMs: number, signal: AbortSignal) => Promise<HttpOutcome>;
  readonly post: (
    path: string,
    body: unknown,
    deadlineMs: number,
    signal: AbortSignal,
  ) => Promise<HttpOutcome>;
}

type Failure = Exclude<Delivery, { kind: 'delivered' }>;

interface Attempt {
  readonly entity: HubEntity;
  readonly verb: Verb;
  readonly service: string;
  readonly before: HubState;
  readonly command: Command;
}

const REREAD_MS = 300;
const UNCONFIRMED: Failure = {
  kind: 'unknown',
  reason: 'the hub took the command, the device has not confirmed it',
};

export async function commandHub(deps: HubDeps, verb: Verb, command: Command): Promise<Delivery> {
  const entity = parseHubEntity(command.entity.externalId);
  if (entity === null) return { kind: 'not_sent', reason: 'the entity has no id of the hub' };
  const before = await stateBefore(deps, entity, command);
  if ('kind' in before) return before;
  const service = serviceFor(entity.domain, verb, before);
  if (service === null) return { kind: 'refused', reason: `a ${entity.domain} of the hub cannot ${verb}` };
  const obstacle = obstacleOf(entity.domain, before);
  if (obstacle !== null) return { kind: 'refused', reason: obstacle };
  const attempt = { entity, verb, service, before, command };
  return (await callOverSocket(deps, attempt)) ?? callOverHttp(deps, attempt);
}

/** The hub answers 200 to a command for an entity it skips, so its state is looked at first. */
async function stateBefore(
  { clock, socket, get }: HubDeps,
  { id }: HubEntity,
  { deadlineMs, signal }: Command,
): Promise<HubState | Failure> {
  const known = socket.state(id);
  if (known === null) return { kind: 'refused', reason: 'the hub does not know this entity' };
  if (known !== undefined) return known;
  const now = clock.monotonicMs();
  const outcome = await get(`api/states/${id}`, now + (deadlineMs - now) / 2, signal);
  const failure = failureOf(outcome);
  if (failure?.kind === 'refused') return failure;
  const state = outcome.kind === 'response' && failure === null ? parseState(outcome.body) : null;
  return state ?? { kind: 'not_sent', reason: 'the hub did not say how the device stands' };
}

async function callOverSocket(deps: HubDeps, attempt: Attempt): Promise<Delivery | null> {
  const { clock, socket } = deps;
  const { entity, service, command } = attempt;
  if (clock.monotonicMs() >= command.deadlineMs)
    return { kind: 'not_sent', reason: 'the deadline has passed' };
  const sent = socket.command({
    type: 'call_service',
    domain: entity.domain,
    service,
    target: { entity_id: entity.id },
    service_data: {},
  });
  if (sent === null) return null;
  const waiting = awaitConfirmation<Delivery>(clock, command.deadlineMs, command.signal);
  const look = createLook(attempt, waiting.give);
  const stopListening = socket.listen({
    onState(entityId, state) {
      if (entityId === entity.id && state !== null) look.at(state);
    },
    onLive() {
      const state = socket.state(entity.id);
      if (state) look.at(state);
    },
  });
  void sent.reply.then((reply) => {
    if (reply.kind === 'lost')
      return waiting.give({ kind: 'unknown', reason: 'the connection to the hub broke' });
    if (reply.kind === 'error') return waiting.give(failureOfCode(reply.code));
    look.accepted(objectOf(objectOf(reply.result).context).id, socket.state(entity.id));
  });
  const delivery = await waiting.answer;
  stopListening();
  waiting.cancel();
  if (delivery === null) sent.giveUp();
  return delivery ?? UNCONFIRMED;
}

/** Counts a state as the effect only after the hub has said that it carried the command out. */
function createLook(attempt: Attempt, settle: (delivery: Delivery) => void) {
  let context: { id: unknown } | null = null;
  function at(state: HubState): void {
    if (context === null) return;
    if (confirms(attempt.verb, attempt.before, state))
      settle({ kind: 'delivered', observed: observedIn(state) });
    else if (state.state === 'jammed' && state.contextId === context.id)
      settle({ kind: 'unknown', reason: 'the lock is jammed' });
  }
  return {
    at,
    accepted(contextId: unknown, now: HubState | null | undefined): void {
      context = { id: contextId };
      if (isMomentary(attempt.entity.domain)) settle({ kind: 'delivered', observed: null });
      else if (now) at(now);
    },
  };
}

async function callOverHttp(deps: HubDeps, attempt: Attempt): Promise<Delivery> {
  const { entity, service, command } = attempt;
  const { deadlineMs, signal } = command;
  const path = `api/services/${entity.domain}/${service}`;
  const outcome = await deps.post(path, { entity_id: entity.id }, deadlineMs, signal);
  const failure = failureOf(outcome);
  if (failure !== null) return failure;
  const changed = outcome.kind === 'response' ? parseJson(outcome.body) : null;
  if (!Array.isArray(changed)) return { kind: 'unknown', reason: 'the answer of the hub cannot be read' };
  if (isMomentary(entity.domain)) return { kind: 'delivered', observed: null };
  const own = changed.map(readState).find((state) => state?.entityId === entity.id);
  return confirmOverHttp(deps, attempt, own ?? null);
}

async function confirmOverHttp(
  { clock, get }: HubDeps,
  { entity, verb, before, command }: Attempt,
  changed: HubState | null,
): Promise<Delivery> {
  const { deadlineMs, signal } = command;
  const read = async (): Promise<HubState | null> => {
    const outcome = await get(`api/states/${entity.id}`, deadlineMs, signal);
    return outcome.kind === 'response' && outcome.status === 200 ? parseState(outcome.body) : null;
  };
  let state = changed ?? (await read());
  while (state === null || !confirms(verb, before, state)) {
    if (signal.aborted || clock.monotonicMs() + REREAD_MS >= deadlineMs) return UNCONFIRMED;
    await delay(REREAD_MS, undefined, { ref: false });
    state = await read();
  }
  return { kind: 'delivered', observed: observedIn(state) };
}
