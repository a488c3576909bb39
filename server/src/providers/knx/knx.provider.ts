import { done, tested } from '../ops.ts';
import type {
  Command,
  Connection,
  Delivery,
  Health,
  Link,
  ObservedStatus,
  OpLimits,
  OpResult,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { type GroupInput, type KnxConfig, knxManifest } from './knx.manifest.ts';
import {
  groupRead,
  groupWrite,
  parseGroupAddress,
  parseIndividualAddress,
  type Telegram,
} from './knx.wire.ts';
import { createExpectations, type Expectations } from './knx-expectations.ts';
import { createStatusObjects, type StatusObjects } from './knx-status.ts';
import { createTunnel, type Tunnel, type TunnelTiming } from './knx-tunnel.ts';

const timing: TunnelTiming = {
  connectWithinMs: 10_000,
  ackWithinMs: 1_000,
  confirmWithinMs: 3_000,
  heartbeatEveryMs: 60_000,
  heartbeatWithinMs: 10_000,
  paceMs: 25,
  retryFromMs: 3_000,
  silentForMs: 5_000,
};

const healthByState: Readonly<Record<ReturnType<Tunnel['state']>, Health>> = {
  up: 'ok',
  connecting: 'reduced',
  failing: 'error',
};

const tunnelMessages: Readonly<Record<ReturnType<Tunnel['state']>, string>> = {
  up: 'there is a tunnel through the gateway',
  connecting: 'a tunnel is being asked for',
  failing: 'the gateway gives no tunnel; it is tried again',
};

/** The answer has to be back before the caller's own deadline turns it into "unknown". */
const ANSWER_MARGIN_MS = 100;

export const knx: ProviderDefinition = {
  manifest: knxManifest,
  connect: (link, context) => connectKnx(link, context, timing),
};

interface Bus {
  readonly tunnel: Tunnel;
  readonly objects: StatusObjects;
}

export function connectKnx(link: Link, context: ProviderContext, times: TunnelTiming): Connection {
  const config = link.config as KnxConfig;
  const { clock, logger, onState } = context;
  const heard = createExpectations<Telegram>();
  const objects = createStatusObjects({
    clock,
    onState,
    ask: async (cemi, sendBeforeMs, urgent) => {
      if (tunnel.state() === 'up') await tunnel.send(cemi, { urgent, sendBeforeMs });
    },
  });
  const tunnel = createTunnel({
    host: config.host,
    port: config.port ?? 3671,
    localIp: config.local_ip,
    individualAddress: parseIndividualAddress(config.individual_address ?? ''),
    timing: times,
    clock,
    logger: logger.child({ integration_id: link.integrationId }),
    onIndication: (telegram) => {
      objects.take(telegram);
      heard.tell(telegram);
    },
    onUp: objects.readAll,
    onOutOfSight: objects.loseSight,
  });
  const bus: Bus = { tunnel, objects };
  return {
    actions: {
      open: (command) => change(bus, command, 'open'),
      close: (command) => change(bus, command, 'closed'),
    },
    ops: {
      'connection.test': async () => {
        const state = tunnel.state();
        return tested(healthByState[state], tunnelMessages[state]);
      },
      'group.read': (input, limits) => readGroup(tunnel, heard, input as GroupInput, limits),
    },
    health: () => healthByState[tunnel.state()],
    bind: objects.bind,
    close: tunnel.close,
  };
}

const RESPONSE_WITHIN_MS = 3_000;

async function readGroup(
  tunnel: Tunnel,
  heard: Expectations<Telegram>,
  { group_address: address }: GroupInput,
  { deadlineMs, signal }: OpLimits,
): Promise<OpResult> {
  const group = parseGroupAddress(address);
  if (group === null) return { kind: 'not_sent', reason: 'the broadcast address can not be read' };
  const response = heard.expect((telegram) =>
    telegram.group === group && telegram.service === 'response' ? telegram : null,
  );
  try {
    const sent = await tunnel.send(groupRead(group), { urgent: false, sendBeforeMs: deadlineMs, signal });
    if (sent.kind !== 'confirmed') return sent;
    const telegram = await response.within(RESPONSE_WITHIN_MS);
    if (telegram === null) return { kind: 'unknown', reason: 'nobody on the bus answers for this address' };
    return done({ group_address: address, value: telegram.value });
  } finally {
    response.cancel();
  }
}

async function change(bus: Bus, command: Command, wanted: ObservedStatus): Promise<Delivery> {
  const { entity, deadlineMs, signal } = command;
  const group = parseGroupAddress(entity.externalId ?? '');
  if (group === null) return { kind: 'not_sent', reason: 'the external id is no group address' };
  const sendBeforeMs = deadlineMs - ANSWER_MARGIN_MS;
  const value = (wanted === 'open') !== (entity.metadata.invert === 'true');
  const proof = bus.objects.watch(entity, wanted);
  try {
    const sent = await bus.tunnel.send(groupWrite(group, value), { urgent: true, sendBeforeMs, signal });
    if (sent.kind !== 'confirmed') return sent;
    // The confirmation says that the bus has it, not that the actuator moved: only its status object does.
    return { kind: 'delivered', observed: await proof.observed(sendBeforeMs) };
  } finally {
    proof.cancel();
  }
}
