import type {
  Command,
  Connection,
  Delivery,
  Health,
  Link,
  ObservedStatus,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { type KnxConfig, knxManifest } from './knx.manifest.ts';
import { groupWrite, parseGroupAddress, parseIndividualAddress } from './knx.wire.ts';
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
    onIndication: objects.take,
    onUp: objects.readAll,
    onOutOfSight: objects.loseSight,
  });
  const bus: Bus = { tunnel, objects };
  return {
    actions: {
      open: (command) => change(bus, command, 'open'),
      close: (command) => change(bus, command, 'closed'),
    },
    health: () => healthByState[tunnel.state()],
    bind: objects.bind,
    close: tunnel.close,
  };
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
