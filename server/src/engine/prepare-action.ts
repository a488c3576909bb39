import { AppError, invalid, notFound } from '../kernel/app-error.ts';
import { type OrgScope, type Principal, principalId } from '../kernel/call.ts';
import { sha256Canonical } from '../kernel/canonical-json.ts';
import { mayOpen } from '../policy/verb-rules.ts';
import type { ProviderManifest, Verb } from '../providers/provider.ts';
import { pulseOwnerOf } from '../providers/record-rules.ts';
import { actionIdOf, pulseSeconds, resolveToggle, verbOf } from './action.rules.ts';
import { type Decision, decide } from './decide.ts';
import type { EngineDeps } from './engine.ts';
import { isHeldOpen } from './hold-standing.ts';
import type { OpenerInterval } from './intents.store.ts';
import { type HeldBack, heldBackLights } from './portal-lights.ts';
import { findPortalStatus, openersOf } from './portals.ts';
import { findStatus, type Target } from './target.store.ts';

export interface ActionRequest {
  readonly entityId: string;
  readonly actionId: string;
  readonly payload: unknown;
}

/** An action that could be executed now: everything that preview and execute must see alike. */
export interface PreparedAction {
  readonly org: OrgScope;
  readonly principal: Principal;
  readonly target: Target;
  readonly manifest: ProviderManifest;
  /** What is sent: a toggle is already turned into open or close where the state is known. */
  readonly verb: Verb;
  readonly actionId: string;
  readonly pulseSeconds: number | null;
  readonly minIntervalMs: number;
  /** Binds proofs and idempotency keys to organization, principal, entity, action and exact payload. */
  readonly fingerprint: Buffer;
  readonly decision: Decision;
  readonly payload: unknown;
  /** For a portal: what it opens through, and how often that may be opened. */
  readonly openers: readonly OpenerInterval[];
  /** The lights of a portal that must not follow. */
  readonly heldBack: HeldBack;
}

export async function prepareAction(
  deps: EngineDeps,
  org: OrgScope,
  principal: Principal,
  request: ActionRequest,
): Promise<PreparedAction> {
  const target = await deps.targets.find(org, request.entityId);
  if (target === null) throw notFound();
  const { manifest, verb: asked } = offered(deps, target, request.actionId);
  const verb = await resolved(deps, org, target, asked);
  const actionId = actionIdOf(asked);
  const [policies, openers] = await Promise.all([deps.policies.snapshot(org), openersOf(deps, org, target)]);
  const nowMs = deps.clock.millis();
  const pulse = pulseOf(request.payload, target, manifest, verb);
  const facts = { principal, org, target, verb, openers, policies, nowMs };
  return {
    org,
    principal,
    target,
    manifest,
    verb,
    actionId,
    // What is held open is not closed again by an open.
    pulseSeconds: pulse !== null && (await isHeldOpen(deps, org, target, policies)) ? null : pulse,
    minIntervalMs: mayOpen(verb) ? minIntervalMs(target, manifest) : 0,
    fingerprint: sha256Canonical([
      org.id,
      principalId(principal),
      target.entityId,
      actionId,
      request.payload,
    ]),
    decision: decide(facts),
    payload: request.payload,
    openers: mayOpen(verb) ? openers.map((opener) => intervalOf(deps, opener)) : [],
    heldBack: mayOpen(verb) ? await heldBackLights(deps, facts) : {},
  };
}

function intervalOf({ providers }: EngineDeps, opener: Target): OpenerInterval {
  const { entityId, integrationId, providerType } = opener;
  const manifest = providers.manifest(providerType);
  return { entityId, integrationId, minIntervalMs: manifest === null ? 0 : minIntervalMs(opener, manifest) };
}

/** An action the entity does not have, or its provider can not do, is the 501. */
function offered(
  deps: EngineDeps,
  target: Target,
  actionId: string,
): { manifest: ProviderManifest; verb: Verb } {
  const verb = verbOf(actionId, target.entityType);
  const manifest = deps.providers.manifest(target.providerType);
  if (verb === null || manifest === null || !isOffered(manifest.actions, verb) || isInert(manifest, target)) {
    throw new AppError('action_not_implemented', 'this entity does not offer this action');
  }
  return { manifest, verb };
}

/** A device of a site that is made of nothing, such as a directory. */
function isInert({ composition }: ProviderManifest, { deviceMetadata }: Target): boolean {
  return composition !== undefined && composition(deviceMetadata) === null;
}

/** A toggle is also offered where it can be turned into open or close. */
function isOffered(actions: readonly Verb[], verb: Verb): boolean {
  return (
    actions.includes(verb) || (verb === 'toggle' && actions.includes('open') && actions.includes('close'))
  );
}

async function resolved(deps: EngineDeps, org: OrgScope, target: Target, verb: Verb): Promise<Verb> {
  if (verb !== 'toggle') return verb;
  const composition = deps.providers.manifest(target.providerType)?.composition?.(target.deviceMetadata);
  const status = await deps.db.inOrg(org.id, (tx) =>
    composition
      ? findPortalStatus(tx, org.id, composition, deps.providers.manifest)
      : findStatus(tx, org.id, target.entityId),
  );
  return resolveToggle(verb, status);
}

function pulseOf(payload: unknown, target: Target, manifest: ProviderManifest, verb: Verb): number | null {
  if (!mayOpen(verb)) return null;
  const choice = pulseSeconds({
    payload,
    entityMetadata: target.metadata,
    deviceMetadata: target.deviceMetadata,
    providerDefault: manifest.defaultPulseSeconds(target.config, target.entityType, target.deviceMetadata),
  });
  if (!choice.ok) throw invalid('/auto_close', choice.reason);
  return choice.seconds;
}

/**
 * When the service must close again what it may have opened: where the device does not do so itself. If a toggle has
 * closed the door instead, it is closed twice.
 */
export function closeAfterMs({
  verb,
  pulseSeconds,
  manifest,
  target,
}: Pick<PreparedAction, 'verb' | 'pulseSeconds' | 'manifest' | 'target'>): number | null {
  return mayOpen(verb) && pulseSeconds !== null && pulseOwnerOf(manifest, target) === 'server'
    ? pulseSeconds * 1000
    : null;
}

export function minIntervalMs(target: Target, manifest: ProviderManifest): number {
  const configured = target.config.min_interval_ms;
  return typeof configured === 'number' && configured >= 0 ? configured : manifest.defaultMinIntervalMs;
}
