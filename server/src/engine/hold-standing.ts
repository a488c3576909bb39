import { findStandingPrincipal } from '../auth/standing-principal.store.ts';
import type { OrgScope } from '../kernel/call.ts';
import { type HoldWindow, openHoldOf } from '../policy/open-holds.ts';
import type { PolicySnapshot, Reason } from '../policy/typed-rules.ts';
import { type DecisionFacts, decide } from './decide.ts';
import type { EngineDeps } from './engine.ts';
import { findHoldSetter, findWindowProgress } from './holds.store.ts';
import { openersOf } from './portals.ts';
import type { Target } from './target.store.ts';

/**
 * Whether a hold keeps this entity open: its window was let through, so a later close is owed by the hold. Until then an
 * open keeps its pulse: should the hold be let through, its own open comes after it, and has none. Asks the database
 * only where there is a hold.
 */
export async function isHeldOpen(
  deps: Pick<EngineDeps, 'db' | 'clock'>,
  org: OrgScope,
  target: Target,
  policies: PolicySnapshot,
): Promise<boolean> {
  const window = openHoldOf(policies, target, deps.clock.millis());
  return window !== null && (await progressOf(deps, org, target, window)) !== null;
}

const progressOf = (
  { db }: Pick<EngineDeps, 'db'>,
  org: OrgScope,
  { entityId }: Target,
  window: HoldWindow,
): ReturnType<typeof findWindowProgress> =>
  db.inOrg(org.id, (tx) => findWindowProgress(tx, org.id, { ...window, entityId }));

/** `coming`: not opened yet, but it will be, as far as anybody can tell now. A window that is refused is no hold. */
export type HoldStanding = 'none' | 'coming' | 'open';

export async function holdStandingOf(deps: EngineDeps, org: OrgScope, target: Target): Promise<HoldStanding> {
  const nowMs = deps.clock.millis();
  const policies = await deps.policies.snapshot(org);
  const window = org.deletedAt === null ? openHoldOf(policies, target, nowMs) : null;
  if (window === null) return 'none';
  const progress = await progressOf(deps, org, target, window);
  if (progress !== null) return progress === 'settled' ? 'open' : 'coming';
  const openers = await openersOf(deps, org, target);
  const facts = { org, target, verb: 'open' as const, openers, policies, nowMs };
  return (await refusalOf(deps, window.holdId, facts)) === null ? 'coming' : 'none';
}

export type Refusal = Pick<Reason, 'policyId' | 'policyType' | 'message'>;

const setterGone: Refusal = {
  policyId: null,
  policyType: 'hold_setter',
  message: 'who set the hold is gone, or the key they set it with',
};

/**
 * A hold opens with the rights that whoever set it has now. Null when that is enough. What they confirmed when they set
 * it stays confirmed; nobody else has, so what asks for consent is not opened.
 */
export async function refusalOf(
  { db }: Pick<EngineDeps, 'db'>,
  holdId: string,
  facts: Omit<DecisionFacts, 'principal'> & { readonly org: OrgScope },
): Promise<Refusal | null> {
  const { org } = facts;
  const { principal, confirmed } = await db.inOrg(org.path, async (tx) => {
    const setter = await findHoldSetter(tx, org.id, holdId);
    if (!setter?.userId) return { principal: null, confirmed: false };
    const { userId, keyId } = setter;
    return {
      principal: await findStandingPrincipal(tx, org, { userId, keyId }),
      confirmed: setter.confirmed,
    };
  });
  if (principal === null) return setterGone;
  const { effect, reasons } = decide({ ...facts, principal });
  if (effect === 'allow' || (effect === 'confirm' && confirmed)) return null;
  return reasons.find((reason) => reason.effect === effect) ?? setterGone;
}
