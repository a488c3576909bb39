import type {
  Command,
  Connection,
  Delivery,
  EntityBinding,
  Health,
  Link,
  ObservedStatus,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { createShellyOps, discoverShellys } from './shelly-ops.ts';
import { openShellySession, type ShellySession } from './shelly-session.ts';
import { shellyWebsocketManifest } from './shelly-websocket.manifest.ts';
import { callFor, componentOf, deliveryOf } from './shelly-websocket.wire.ts';

const IDENTIFY_WITHIN_MS = 10_000;

export const shellyWebsocket = createShellyWebsocket(IDENTIFY_WITHIN_MS);

export function createShellyWebsocket(identifyWithinMs: number): ProviderDefinition {
  return {
    manifest: shellyWebsocketManifest,
    connect: (link, context) => connect(link, context, identifyWithinMs),
  };
}

interface State {
  readonly context: ProviderContext;
  entities: readonly EntityBinding[];
  /** The newest socket of each device. */
  readonly devices: Map<string, ShellySession>;
  closed: boolean;
}

function connect(link: Link, context: ProviderContext, identifyWithinMs: number): Connection {
  const state: State = { context, entities: [], devices: new Map(), closed: false };
  const stop = context.dialIn?.accept(`shelly/${link.integrationId}`, (socket) => {
    const session = openShellySession({
      socket,
      clock: context.clock,
      identifyWithinMs,
      onIdentified: (deviceId) => welcome(state, deviceId, session),
      onStatus: (deviceId, component, status) => {
        if (state.devices.get(deviceId) === session) report(state, deviceId, component, status);
      },
      onGone: (deviceId) => forget(state, deviceId, session),
    });
    return session;
  });
  const health = (): Health => (stop === undefined ? 'error' : healthOf(state));
  return {
    actions: {
      open: (command) => send(state, 'open', command),
      close: (command) => send(state, 'close', command),
    },
    ops: createShellyOps({
      integrationId: link.integrationId,
      dialIn: context.dialIn,
      devices: state.devices,
      health,
    }),
    discover: async () => discoverShellys(state.devices),
    health,
    bind: (entities) => bind(state, entities),
    async close() {
      state.closed = true;
      stop?.();
    },
  };
}

function deviceIdOf({ deviceMetadata }: EntityBinding): string | null {
  const id = deviceMetadata['shelly.device_id'];
  return typeof id === 'string' ? id.toLowerCase() : null;
}

const componentNameOf = ({ metadata }: EntityBinding): string => metadata['shelly.component'] ?? 'switch:0';

function sessionOf({ devices }: State, entity: EntityBinding): ShellySession | undefined {
  const deviceId = deviceIdOf(entity);
  return deviceId === null ? undefined : devices.get(deviceId);
}

function bind(state: State, entities: readonly EntityBinding[]): void {
  state.entities = entities;
  for (const entity of entities) reportKnown(state, entity);
}

function welcome(state: State, deviceId: string, session: ShellySession): void {
  const older = state.devices.get(deviceId);
  state.devices.set(deviceId, session);
  older?.end();
  state.context.logger.info({ shelly_device_id: deviceId }, 'a device has dialled in');
  for (const entity of state.entities) if (deviceIdOf(entity) === deviceId) reportKnown(state, entity);
}

function reportKnown(state: State, entity: EntityBinding): void {
  const status = sessionOf(state, entity)?.status(componentNameOf(entity)) ?? null;
  if (status !== null) state.context.onState(entity.entityId, status);
}

function report(state: State, deviceId: string, component: string, status: ObservedStatus): void {
  for (const entity of state.entities) {
    if (deviceIdOf(entity) === deviceId && componentNameOf(entity) === component)
      state.context.onState(entity.entityId, status);
  }
}

/** A socket that a newer one has replaced says nothing any more. */
function forget(state: State, deviceId: string, session: ShellySession): void {
  if (state.devices.get(deviceId) !== session) return;
  state.devices.delete(deviceId);
  if (state.closed) return;
  state.context.logger.info({ shelly_device_id: deviceId }, 'a device is gone');
  for (const entity of state.entities)
    if (deviceIdOf(entity) === deviceId) state.context.onState(entity.entityId, 'unknown');
}

function healthOf({ entities, devices }: State): Health {
  const wanted = [...new Set(entities.map(deviceIdOf))];
  const there = wanted.filter((id) => id !== null && devices.has(id)).length;
  if (there === wanted.length) return 'ok';
  return there > 0 ? 'reduced' : 'error';
}

async function send(state: State, verb: 'open' | 'close', command: Command): Promise<Delivery> {
  const { entity, pulseSeconds, deadlineMs, signal } = command;
  const component = componentOf(componentNameOf(entity));
  if (component === null) return { kind: 'not_sent', reason: 'the entity names no output of the device' };
  const call = callFor(component, verb, pulseSeconds);
  const session = sessionOf(state, entity);
  if (session === undefined) return { kind: 'not_sent', reason: 'the device is not connected' };
  const answer = await session.call(call, deadlineMs, signal);
  if (answer.kind === 'not_sent')
    return { kind: 'not_sent', reason: 'the device is not connected, or the deadline has passed' };
  if (answer.kind === 'lost') return { kind: 'unknown', reason: 'the device did not answer' };
  return deliveryOf(component, verb, answer);
}
