import { done, mapDone, tested, testedFailure } from '../ops.ts';
import type { DiscoveredDevice, Health, Op, OpLimits, OpResult } from '../provider.ts';
import type { EntitiesInput } from './homeassistant.manifest.ts';
import { failureOf, type HubState, isOffered, parseStates } from './homeassistant.wire.ts';
import type { HubDeps } from './hub-command.ts';

export function createHubOps(deps: HubDeps, health: () => Health): Record<string, Op> {
  return {
    'connection.test': async (_input, { deadlineMs, signal }) => {
      const outcome = await deps.get('api/', deadlineMs, signal);
      const failure = failureOf(outcome);
      if (failure === null)
        return tested(health(), `the hub answers; its websocket is ${deps.socket.phase()}`);
      return failure.kind === 'refused' ? tested('error', failure.reason) : testedFailure(failure);
    },
    'entities.list': async (input, limits) => {
      const { domain } = input as EntitiesInput;
      return mapDone(await statesOf(deps, limits), (states) =>
        states
          .filter(({ entityId }) => domain === undefined || entityId.startsWith(`${domain}.`))
          .map(({ entityId, name, state }) => ({ entity_id: entityId, name: name ?? entityId, state })),
      );
    },
  };
}

export async function discoverHub(deps: HubDeps, limits: OpLimits): Promise<OpResult<DiscoveredDevice[]>> {
  return mapDone(await statesOf(deps, limits), (states) =>
    states.filter(isOffered).map(({ entityId, name }) => ({
      externalId: entityId,
      name: name ?? entityId,
      model: entityId.split('.')[0] ?? '',
      channelCount: 1,
    })),
  );
}

/** What the websocket has pushed is the newest there is; without it the hub is asked. */
async function statesOf(
  { socket, get }: HubDeps,
  { deadlineMs, signal }: OpLimits,
): Promise<OpResult<readonly HubState[]>> {
  const pushed = socket.states();
  if (pushed !== null) return done(pushed);
  const outcome = await get('api/states', deadlineMs, signal);
  const failure = failureOf(outcome);
  if (failure !== null) return failure;
  const states = outcome.kind === 'response' ? parseStates(outcome.body) : null;
  return states === null ? { kind: 'unknown', reason: 'the answer of the hub cannot be read' } : done(states);
}
