import { done, tested, testedFailure } from '../ops.ts';
import type {
  Command,
  Connection,
  Delivery,
  EntityBinding,
  Health,
  Link,
  OpLimits,
  OpResult,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { type HttpOutcome, httpOnce } from '../transport/http-once.ts';
import { type Polling, type PollingTimes, startPolling } from '../transport/polling.ts';
import { createCallGate } from './call-gate.ts';
import { type DeviceInput, type ShellyCloudConfig, shellyCloudManifest } from './shelly-cloud.manifest.ts';
import {
  type Call,
  type Channel,
  channelStatus,
  type DeviceStatus,
  devicesPerRead,
  failureOf,
  readCall,
  readStatuses,
  readSwitchReply,
  switchCall,
} from './shelly-cloud.wire.ts';

export interface ShellyCloudTimes extends PollingTimes {
  readonly betweenCallsMs: number;
}

// One call per second and account, and a little more: the cloud's clock is not ours.
const TIMES: ShellyCloudTimes = {
  betweenCallsMs: 1100,
  everyMs: 30_000,
  retryMs: 15_000,
  maxRetryMs: 300_000,
};
const READ_TIMEOUT_MS = 10_000;

export const shellyCloud = createShellyCloud(TIMES);

export function createShellyCloud(times: ShellyCloudTimes): ProviderDefinition {
  return { manifest: shellyCloudManifest, connect: (link, context) => connect(link, context, times) };
}

function connect(link: Link, context: ProviderContext, times: ShellyCloudTimes): Connection {
  const account = createAccount(link, context, times);
  let entities: readonly EntityBinding[] = [];
  const polling = startPolling(context.clock, times, (signal) => readAll(account, context, entities, signal));
  return {
    actions: {
      open: (command) => switchOnce(account, polling, command, true),
      close: (command) => switchOnce(account, polling, command, false),
    },
    ops: {
      'connection.test': (_input, limits) => test(account, entities, limits),
      'device.status': (input, limits) => readDevice(account, (input as DeviceInput).device_id, limits),
    },
    health: account.health,
    bind(next) {
      entities = next;
      polling.soon(0);
    },
    close: () => polling.close(),
  };
}

type Account = ReturnType<typeof createAccount>;

function createAccount({ config, secrets }: Link, { clock }: ProviderContext, times: ShellyCloudTimes) {
  const { server_uri: server, api = 'v2' } = config as ShellyCloudConfig;
  const base = server.replace(/\/*$/, '/');
  const gate = createCallGate(clock, times.betweenCallsMs);
  let health: Health = 'reduced';
  let unauthorized = 0;
  let commands = 0;

  async function post(call: Call, deadlineMs: number, signal: AbortSignal): Promise<HttpOutcome> {
    const { path, body, contentType } = call;
    const headers = { 'content-type': contentType };
    const url = `${base}${path}`;
    const outcome = await httpOnce({ method: 'POST', url, headers, body, deadlineMs, clock, signal });
    unauthorized = outcome.kind === 'response' && outcome.status === 401 ? unauthorized + 1 : 0;
    health = healthAfter(outcome, unauthorized);
    return outcome;
  }
  return {
    api,
    gate,
    post,
    health: () => health,
    key: () => secrets.auth_key?.reveal() ?? '',
    noteCommand: () => ++commands,
    commands: () => commands,
  };
}

/** Too many calls are answered 401 as well (wire-facts 2), so only the second one in a row speaks against the key. */
function healthAfter(outcome: HttpOutcome, unauthorized: number): Health {
  if (outcome.kind !== 'response' || outcome.status >= 500 || outcome.status === 403) return 'error';
  if (unauthorized > 0) return unauthorized > 1 ? 'error' : 'reduced';
  return outcome.status === 429 || outcome.status === 404 ? 'reduced' : 'ok';
}

async function switchOnce(
  account: Account,
  polling: Polling,
  command: Command,
  on: boolean,
): Promise<Delivery> {
  const { entity, deadlineMs, signal, pulseSeconds } = command;
  const channel = channelOf(entity);
  if (channel === null) return { kind: 'not_sent', reason: 'the device has no id' };
  if (!(await account.gate.takePlace(deadlineMs, signal)))
    return { kind: 'not_sent', reason: 'one call per second: no place before the deadline' };
  account.noteCommand();
  const call = switchCall(account.api, account.key(), channel, on, pulseSeconds);
  const delivery = readSwitchReply(account.api, await account.post(call, deadlineMs, signal));
  // What became of it, and of its pulse: the cloud reports nothing by itself.
  if (delivery.kind !== 'not_sent') polling.soon(1000 * ((on && pulseSeconds) || 1));
  return delivery;
}

async function readDevice(
  account: Account,
  device: string,
  { deadlineMs, signal }: OpLimits,
): Promise<OpResult<DeviceStatus>> {
  if (!(await account.gate.takePlace(deadlineMs, signal)))
    return { kind: 'not_sent', reason: 'one call per second: no place in time' };
  const { api } = account;
  const outcome = await account.post(readCall(api, account.key(), [device]), deadlineMs, signal);
  const failure = failureOf(outcome);
  if (failure !== null) return failure;
  const statuses = readStatuses(api, [device], outcome);
  if (statuses === null) return { kind: 'unknown', reason: 'the answer of the cloud cannot be read' };
  const status = statuses.get(device);
  return status === undefined ? { kind: 'refused', reason: 'the account has no such device' } : done(status);
}

/** The cloud lists nothing, so there is something to ask only when the integration has a device. */
async function test(
  account: Account,
  entities: readonly EntityBinding[],
  limits: OpLimits,
): Promise<OpResult> {
  const device = entities.find((entity) => entity.deviceExternalId !== null)?.deviceExternalId;
  if (!device) return tested(account.health(), 'there is no device yet that the cloud could be asked about');
  const found = await readDevice(account, device, limits);
  if (found.kind === 'done') return tested('ok', 'the cloud answers for the devices of the account');
  return found.kind === 'refused' ? tested('error', found.reason) : testedFailure(found);
}

function channelOf({ deviceExternalId, metadata }: EntityBinding): Channel | null {
  if (!deviceExternalId) return null;
  return { device: deviceExternalId, index: Number(metadata.channel_index ?? 0) };
}

async function readAll(
  account: Account,
  { clock, onState }: ProviderContext,
  entities: readonly EntityBinding[],
  signal: AbortSignal,
): Promise<boolean> {
  const channels = entities.flatMap((entity) => {
    const channel = channelOf(entity);
    return channel === null ? [] : [{ ...channel, entityId: entity.entityId }];
  });
  const { api } = account;
  for (const devices of inGroups([...new Set(channels.map(({ device }) => device))], devicesPerRead[api])) {
    if (!(await account.gate.takeFreePlace(signal))) return true;
    const commandsBefore = account.commands();
    const call = readCall(api, account.key(), devices);
    const outcome = await account.post(call, clock.monotonicMs() + READ_TIMEOUT_MS, signal);
    const statuses = readStatuses(api, devices, outcome);
    if (statuses === null) return false;
    // A reading may be older than a command that was sent meanwhile, so it is not told; the command asks for another.
    if (account.commands() !== commandsBefore || signal.aborted) continue;
    for (const { device, index, entityId } of channels)
      if (devices.includes(device)) onState(entityId, channelStatus(statuses.get(device), index));
  }
  return true;
}

function inGroups<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, group) =>
    items.slice(group * size, (group + 1) * size),
  );
}
