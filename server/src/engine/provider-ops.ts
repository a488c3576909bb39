import type { BusCipher } from '../cluster/bus-cipher.ts';
import type { Leases } from '../cluster/leases.ts';
import type { NodeBus } from '../cluster/node-bus.ts';
import { moved, type NodeOp, type NodeOpAnswer, opAnswerOf } from '../cluster/node-requests.ts';
import { AppError } from '../kernel/app-error.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { opOf } from '../providers/ops.ts';
import type { Connection, OpLimits, OpResult } from '../providers/provider.ts';
import type { LinkRow } from './link.store.ts';
import type { Providers } from './providers.ts';

/** Of an integration. Without an id it is the look for devices. */
export interface OpRequest {
  readonly id: string | null;
  readonly input: Readonly<Record<string, unknown>>;
}

/** `absent`: the settings of the integration leave something out that its provider has. */
export type OpAnswer = OpResult | { readonly kind: 'absent' };

export interface ProviderOps {
  /**
   * On the node that holds the connection, once. Throws `unavailable` while nobody holds it, and `device_unreachable`
   * when nobody can: nothing was asked of the far side then.
   */
  run(link: LinkRow, request: OpRequest): Promise<OpAnswer>;
  /** For another node, under the lease it saw. */
  answer(op: NodeOp): Promise<NodeOpAnswer>;
}

export interface ProviderOpsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly providers: Pick<Providers, 'use' | 'takeUp'>;
  readonly leases: Leases;
  readonly bus: Pick<NodeBus, 'request'>;
  readonly cipher: BusCipher;
}

const withinMs = 10_000;
/** So long a connection is waited for that nobody holds, or that is on its way to another node. */
const takeUpMs = 3_000;
const lookAgainMs = 50;
/** What the owner's own deadline needs to come back. */
const answerMarginMs = 250;

export function createProviderOps(deps: ProviderOpsDeps): ProviderOps {
  return {
    run: (link, request) => untilTaken(deps, link, request),
    answer: (op) => answer(deps, op),
  };
}

/** INVARIANT: only what provably did not leave comes around again. */
async function untilTaken(deps: ProviderOpsDeps, link: LinkRow, request: OpRequest): Promise<OpAnswer> {
  const { clock, leases } = deps;
  const startedMs = clock.monotonicMs();
  for (;;) {
    const untilMs = clock.monotonicMs() + withinMs;
    const here = await runHere(deps, link, request, untilMs);
    if (here === 'none')
      throw new AppError('device_unreachable', 'the integration can not be connected with its settings');
    const waitedMs = clock.monotonicMs() - startedMs;
    const answered = here === 'elsewhere' ? await runThere(deps, link, request, waitedMs) : here;
    if (answered.kind !== 'moved') return answered;
    if (waitedMs > takeUpMs)
      throw new AppError('unavailable', 'no node holds the connection of this integration now');
    await leases.changed(lookAgainMs);
  }
}

type Asked = OpAnswer | typeof moved;

function runHere(
  { providers, clock }: ProviderOpsDeps,
  link: LinkRow,
  request: OpRequest,
  untilMs: number,
  underLease?: () => number,
): Promise<Asked | 'elsewhere' | 'none'> {
  return providers.use(link, null, async ({ connection, untilMs: usableUntilMs }): Promise<Asked> => {
    const now = clock.monotonicMs();
    const deadlineMs = Math.min(untilMs, (underLease ?? usableUntilMs)());
    if (deadlineMs <= now) return moved;
    const signal = AbortSignal.timeout(Math.ceil(deadlineMs - now));
    return runOn(connection, request, { deadlineMs, signal });
  });
}

async function runOn(connection: Connection, { id, input }: OpRequest, limits: OpLimits): Promise<OpAnswer> {
  if (id === null) return (await connection.discover?.(limits)) ?? { kind: 'absent' };
  const op = opOf(connection, id);
  return op === undefined ? { kind: 'absent' } : await op(input, limits);
}

async function runThere(
  deps: ProviderOpsDeps,
  link: LinkRow,
  request: OpRequest,
  waitedMs: number,
): Promise<Asked> {
  const { leases, cipher } = deps;
  const owner = await leases.ownerOf(link.integrationId);
  if (owner === null) {
    if (await deps.providers.takeUp(link, waitedMs)) return moved;
    throw new AppError('device_unreachable', 'the integration can not be connected with its settings');
  }
  const databaseMs = leases.databaseMs();
  if (owner.nodeId === leases.nodeId || databaseMs === null) return moved;
  const { orgId, integrationId, providerType, config } = link;
  const { epoch } = owner;
  const lease = { orgId, integrationId, providerType, config, epoch, notAfterMs: databaseMs + withinMs };
  const op: NodeOp = { ...lease, op: cipher.lock(JSON.stringify(request)) };
  const answered = opAnswerOf(await deps.bus.request(owner, JSON.stringify(op), withinMs + answerMarginMs));
  if (answered.kind !== 'op') return answered;
  const text = cipher.unlock(answered.answer);
  // Signed by a node of this installation, for this question.
  return text === null
    ? { kind: 'unknown', reason: 'the answer of the other node can not be read' }
    : (JSON.parse(text) as OpAnswer);
}

async function answer(deps: ProviderOpsDeps, op: NodeOp): Promise<NodeOpAnswer> {
  const { leases, clock, cipher } = deps;
  const databaseMs = leases.databaseMs();
  const usableUntilMs = () => leases.usableUntilMs(op.integrationId, op.epoch);
  const text = cipher.unlock(op.op);
  if (databaseMs === null || text === null || usableUntilMs() <= clock.monotonicMs()) return moved;
  const untilMs = clock.monotonicMs() + Math.min(withinMs, op.notAfterMs - databaseMs);
  const request = JSON.parse(text) as OpRequest;
  const locked = (answered: OpAnswer): NodeOpAnswer => ({
    kind: 'op',
    answer: cipher.lock(JSON.stringify(answered)),
  });
  let asked = false;
  try {
    const here = await runHere(deps, op, request, untilMs, () => {
      asked = true;
      return usableUntilMs();
    });
    if (here === 'none' || here === 'elsewhere' || here.kind === 'moved') return moved;
    return locked(here);
  } catch (error) {
    deps.logger.warn({ err: error, integration_id: op.integrationId }, 'an op for another node failed');
    return asked ? locked({ kind: 'unknown', reason: 'the provider failed' }) : moved;
  }
}
