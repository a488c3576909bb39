import { findOrgScope } from '../auth/principal.store.ts';
import { sha256Canonical } from '../kernel/canonical-json.ts';
import type { Logger } from '../kernel/logger.ts';
import { ulid } from '../kernel/ulid.ts';
import type { Command, Delivery, ProviderManifest } from '../providers/provider.ts';
import { actionIdOf } from './action.rules.ts';
import { actionDetails, conduct, type DecidedAction } from './carry-out.ts';
import type { EngineDeps } from './engine.ts';
import { isHeldOpen } from './hold-standing.ts';
import type { NewIntent } from './intents.store.ts';
import { canBePart } from './portals.ts';
import { closeAfterMs, minIntervalMs } from './prepare-action.ts';
import { findWhole, type Whole } from './relay.store.ts';

export interface RelayRequest {
  readonly orgId: string;
  /** The command this one is a part of. */
  readonly command: Command;
  readonly entityId: string;
  readonly verb: 'open' | 'close';
  readonly pulseSeconds: number | null;
}

export interface CommandRelay {
  /** See `Relay` of the providers. */
  send(request: RelayRequest): Promise<Delivery | null>;
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
}

/** What a part leaves of the time, so that its outcome is written before the whole is given up. */
const marginMs = 250;
/** How often a change of the organization may come in between. */
const maxAttempts = 5;

/**
 * Commands that are parts of another: the same T1, command and T2 as for any action, so one intent and one event for
 * whatever hardware is told. The caller was let through for the whole; a part asks for no further permission.
 */
export function createCommandRelay(deps: EngineDeps, logger: Logger): CommandRelay {
  const underWay = new Set<Promise<unknown>>();
  return {
    async send(request) {
      const work = relay(deps, request).catch((error: unknown): Delivery => {
        // All that can throw comes before the command.
        logger.warn({ err: error, entity_id: request.entityId }, 'a part of a command could not be sent');
        return { kind: 'not_sent', reason: 'the command could not be recorded' };
      });
      underWay.add(work);
      try {
        return await work;
      } finally {
        underWay.delete(work);
      }
    },
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

async function relay(deps: EngineDeps, request: RelayRequest): Promise<Delivery | null> {
  const startedMs = deps.clock.monotonicMs();
  const untilMs = request.command.deadlineMs - marginMs;
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const part = await partOf(deps, request);
    if (part === null) return null;
    const remainingMs = Math.floor(untilMs - deps.clock.monotonicMs());
    if (remainingMs <= 0) return { kind: 'not_sent', reason: 'the deadline has passed' };
    const intent = intentOf(request, part, remainingMs);
    const verdict = await deps.intents.open(intent);
    if (verdict.kind === 'opened')
      return (await conduct(deps, part.action, intent, { startedMs, untilMs })).delivery;
    if (verdict.kind === 'interval') {
      const reason = `ready again in ${verdict.waitMs} ms`;
      return { kind: 'not_sent', reason, retryAfterMs: verdict.waitMs };
    }
  }
  return { kind: 'not_sent', reason: 'the organization was changed all the time' };
}

interface PartOfCommand {
  readonly whole: Whole;
  readonly action: DecidedAction;
  readonly manifest: ProviderManifest;
}

/** Looked up anew for every try: what is deleted, paused or of another organization is not there. */
async function partOf(deps: EngineDeps, request: RelayRequest): Promise<PartOfCommand | null> {
  const { orgId, command, entityId, verb, pulseSeconds } = request;
  const { org, whole } = await deps.db.inOrg(orgId, async (tx) => ({
    org: await findOrgScope(tx, orgId),
    whole: await findWhole(tx, orgId, command.intentId),
  }));
  if (org === null || org.deletedAt !== null || whole === null) return null;
  if (verb === 'open' && whole.heldBack.includes(entityId)) return null;
  const target = await deps.targets.find(org, entityId);
  if (!target?.enabled || !canBePart(target, deps.providers.manifest)) return null;
  const manifest = deps.providers.manifest(target.providerType);
  if (!manifest?.actions.includes(verb)) return null;
  const held = await isHeldOpen(deps, org, target, await deps.policies.snapshot(org));
  const pulse = held ? null : pulseSeconds;
  return { whole, manifest, action: { org, target, verb, actionId: actionIdOf(verb), pulseSeconds: pulse } };
}

function intentOf(
  request: RelayRequest,
  { whole, action, manifest }: PartOfCommand,
  deadlineMs: number,
): NewIntent {
  const { org, target, verb, actionId } = action;
  const partOfId = request.command.intentId;
  const { asker, reservedOpenerId } = whole;
  const asksForInterval = verb === 'open' && reservedOpenerId !== target.entityId;
  return {
    ...asker,
    orgId: org.id,
    epoch: org.epoch,
    // Verified with the whole.
    credentialExpiresAt: null,
    id: ulid(),
    entityId: target.entityId,
    deviceId: target.deviceId,
    integrationId: target.integrationId,
    actionId,
    details: { ...actionDetails(action), part_of: partOfId },
    idempotencyKey: null,
    fingerprint: sha256Canonical([org.id, asker.principalId, target.entityId, actionId, partOfId]),
    confirmationHash: null,
    approval: null,
    deadlineMs,
    minIntervalMs: asksForInterval ? minIntervalMs(target, manifest) : 0,
    openers: [],
    // The whole was counted.
    counters: [],
    closeAfterMs: closeAfterMs({ ...action, manifest }),
  };
}
