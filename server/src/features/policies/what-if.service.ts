import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Role } from '@lintel/contract/roles';
import type { PolicyDraft, WhatIf, WhatIfHistory, WhatIfPrincipal } from '@lintel/contract/what-if';
import { scopedRoles } from '../../auth/principal.rules.ts';
import type { Database, Tx } from '../../db/database.ts';
import { decide } from '../../engine/decide.ts';
import type { Engine } from '../../engine/engine.ts';
import type { OpenFacts } from '../../engine/open-facts.ts';
import { AppError, type FieldProblem, invalid, notFound } from '../../kernel/app-error.ts';
import { type OrgScope, type Principal, principalId, type RoleGrant } from '../../kernel/call.ts';
import { type Clock, parseInstant, toRfc3339 } from '../../kernel/clock.ts';
import { pickText } from '../../kernel/text.ts';
import { ulid } from '../../kernel/ulid.ts';
import type { StoredPolicy } from '../../policy/org-policies.ts';
import { type PolicyInput, requirePolicyInput } from '../../policy/policy-input.ts';
import type { PolicyType } from '../../policy/policy-kinds.ts';
import { isTimeZone } from '../../policy/zone-clock.ts';
import { hardwareOf } from './physical-devices.store.ts';
import { integrationExists } from './policies.store.ts';
import { actorIdOf, actorIn, draftAlone, nameOf, seenBy, verdictOf, withDraft } from './what-if.rules.ts';
import {
  deviceExists,
  listAgents,
  listKeys,
  listOpens,
  listPeople,
  type OpenEvent,
} from './what-if.store.ts';

export interface WhatIfQuestion {
  readonly entityId: string | null;
  readonly at: string | null;
  readonly draft: string | null;
}

export interface WhatIfService {
  ask(org: OrgScope, caller: Principal, question: WhatIfQuestion): Promise<WhatIf>;
}

export interface WhatIfDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly engine: Pick<Engine, 'openFacts'>;
  readonly checkDraft: (value: unknown) => readonly FieldProblem[];
}

const maxPrincipals = 1_000;
const maxOpens = 5_000;
const maxExamples = 100;
const historyMs = 30 * 86_400_000;
/** Deciding takes up to milliseconds each where there are thousands of policies: others get their turn in between. */
const inOneTurn = 25;

export function createWhatIfService(deps: WhatIfDeps): WhatIfService {
  return { ask: (org, caller, question) => ask(deps, org, caller, question) };
}

interface Named {
  readonly principal: Principal;
  readonly name: string;
}

async function ask(
  deps: WhatIfDeps,
  org: OrgScope,
  caller: Principal,
  question: WhatIfQuestion,
): Promise<WhatIf> {
  const { entityId } = question;
  if (entityId === null && question.draft === null) throw invalid('/entity_id', 'is required, or draft');
  const at = question.at === null ? deps.clock.now() : parseInstant(question.at);
  if (at === null) throw invalid('/at', 'is not an RFC 3339 instant');
  const facts = entityId === null ? null : await deps.engine.openFacts(org, entityId);
  if (entityId !== null && facts === null) throw notFound();
  // The path too: administrators above count here.
  const { draft, principals } = await deps.db.inOrg(org.path, async (tx) => ({
    draft: question.draft === null ? null : await parseDraft(tx, deps, org, question.draft),
    principals: await principalsOf(tx, org, seenBy(caller, org), earlier(at, deps.clock.now())),
  }));
  const then = principals.filter(({ principal }) => principal.kind === 'user' || principal.expiresAt > at);
  return {
    at: toRfc3339(at),
    entity_id: entityId,
    principals: facts && (await whoCould(facts, then.slice(0, maxPrincipals), draft, at)),
    truncated: facts !== null && principals.length > maxPrincipals,
    history: draft && (await history(deps, org, principals, draft)),
  };
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

function zoneOf({ timezone }: OrgScope): string {
  return timezone !== null && isTimeZone(timezone) ? timezone : 'UTC';
}

async function parseDraft(tx: Tx, deps: WhatIfDeps, org: OrgScope, text: string): Promise<StoredPolicy> {
  const input = parseJson(text);
  const problems = deps.checkDraft(input);
  if (problems.length > 0) throw inDraft(problems);
  const asked = input as PolicyDraft;
  const integrationId = asked.integration_id ?? null;
  const deviceId = asked.device_id ?? null;
  if (deviceId !== null && integrationId === null)
    throw invalid('/draft/integration_id', 'is required with device_id');
  if (integrationId !== null && !(await placeExists(tx, org.id, integrationId, deviceId))) throw notFound();
  const scope = deviceId !== null ? 'device' : integrationId !== null ? 'integration' : 'org';
  const capability = asked.capability ?? null;
  const enforcement = asked.enforcement ?? 'enforce';
  const { config } = asked;
  const policyType = draftType({ scope, policyType: asked.policy_type, config, enforcement, capability });
  const hardwareId = deviceId === null ? null : await hardwareOf(tx, org.id, deviceId);
  const place = { orgId: org.id, scope, integrationId, deviceId, hardwareId } as const;
  return { ...place, id: ulid(), policyType, capability, config, enforcement, enabled: true };
}

/** The draft is a part of the request: what is wrong with it is told by its place there. */
function inDraft(problems: readonly FieldProblem[]): AppError {
  const details = problems.map(({ path, message }) => ({
    path: `/draft${path === '/' ? '' : path}`,
    message,
  }));
  return new AppError('validation_error', `${details[0]?.path}: ${details[0]?.message}`, { details });
}

function draftType(input: PolicyInput): PolicyType {
  try {
    return requirePolicyInput(input);
  } catch (error) {
    const problems = error instanceof AppError ? error.details : undefined;
    throw problems === undefined ? error : inDraft(problems);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('/draft', 'is not JSON');
  }
}

async function placeExists(
  tx: Tx,
  orgId: string,
  integrationId: string,
  deviceId: string | null,
): Promise<boolean> {
  if (deviceId === null) return await integrationExists(tx, orgId, integrationId);
  return await deviceExists(tx, orgId, integrationId, deviceId);
}

/** Everybody who could send a request here after this instant; one more than are answered tells that there are more. */
async function principalsOf(tx: Tx, org: OrgScope, seen: readonly string[], after: Date): Promise<Named[]> {
  const limit = maxPrincipals + 1;
  const people = (await listPeople(tx, org, limit)).map(
    ({ userId, name, grants }): Named => ({
      name: nameOf(pickText(name, org.defaultLocale), grants, seen),
      principal: { kind: 'user', userId, grants, sessionId: '' },
    }),
  );
  const keys = (await listKeys(tx, org, seen, { after, limit })).map(
    ({ name, orgId, scopedRoles: scope, creatorRoles, ...key }): Named => ({
      name,
      principal: { kind: 'api_key', ...key, org, grants: held(orgId, scopedRoles(scope, creatorRoles)) },
    }),
  );
  const agents = (await listAgents(tx, org, { after, limit })).map(
    ({ name, creatorRoles, ...agent }): Named => ({
      name,
      principal: { kind: 'agent', ...agent, keyId: '', org, grants: held(org.id, creatorRoles) },
    }),
  );
  return [...people, ...keys, ...agents].slice(0, limit);
}

function held(orgId: string, roles: readonly Role[]): RoleGrant[] {
  return roles.map((role) => ({ orgId, role }));
}

async function whoCould(
  facts: OpenFacts,
  principals: readonly Named[],
  draft: StoredPolicy | null,
  at: Date,
): Promise<WhatIfPrincipal[]> {
  // A snapshot of its own: what is decided for another time must not take the place of what is kept for now.
  const policies =
    draft === null ? { orgs: facts.policies.orgs } : withDraft(facts.policies, draft, zoneOf(facts.org));
  const answers: WhatIfPrincipal[] = [];
  for (const [index, { principal, name }] of principals.entries()) {
    if (index % inOneTurn === inOneTurn - 1) await nextTurn();
    const decision = decide({ ...facts, policies, principal, verb: 'open', nowMs: at.getTime() });
    const reasons = decision.reasons.map(({ policyId, policyType, ...reason }) => ({
      policy_id: policyId,
      policy_type: policyType,
      ...reason,
    }));
    const { kind, userId } = principal;
    answers.push({
      kind,
      id: principalId(principal),
      name,
      user_id: userId,
      decision: decision.effect,
      reasons,
    });
  }
  return answers;
}

async function history(
  { db, clock, engine }: WhatIfDeps,
  org: OrgScope,
  principals: readonly Named[],
  draft: StoredPolicy,
): Promise<WhatIfHistory> {
  const since = new Date(clock.millis() - historyMs);
  const found = await db.inOrg(org.id, (tx) => listOpens(tx, org.id, { since, limit: maxOpens + 1 }));
  const opens = found.slice(0, maxOpens);
  const truncated = found.length > maxOpens;
  const known = new Map(principals.map(({ principal }) => [principalId(principal), principal]));
  const factsOf = await factsByEntity(engine, org, opens);
  const counts = { deny: 0, approve: 0, confirm: 0 };
  const examples: WhatIfHistory['examples'] = [];
  let skipped = 0;
  const judged = new Map<OpenFacts['policies'], OpenFacts['policies']>();
  for (const [index, open] of opens.entries()) {
    if (index % inOneTurn === inOneTurn - 1) await nextTurn();
    const facts = factsOf.get(open.entityId);
    if (!facts) {
      skipped += 1;
      continue;
    }
    const policies = judged.get(facts.policies) ?? draftAlone(facts.policies, draft, zoneOf(org));
    judged.set(facts.policies, policies);
    const principal = actorIn(known, open, org);
    const atMs = open.occurredAt.getTime();
    const verdict = verdictOf(policies, { ...facts, principal, verb: open.command, atMs });
    if (verdict === null) continue;
    counts[verdict.effect] += 1;
    if (examples.length < maxExamples) examples.push(exampleOf(open, verdict));
  }
  return {
    since: toRfc3339((truncated ? opens.at(-1)?.occurredAt : null) ?? since),
    truncated,
    examined: opens.length - skipped,
    skipped,
    denied: counts.deny,
    approval_required: counts.approve,
    confirmation_required: counts.confirm,
    examples,
  };
}

async function factsByEntity(
  engine: WhatIfDeps['engine'],
  org: OrgScope,
  opens: readonly OpenEvent[],
): Promise<Map<string, OpenFacts | null>> {
  const facts = new Map<string, OpenFacts | null>();
  for (const { entityId } of opens)
    if (!facts.has(entityId)) facts.set(entityId, await engine.openFacts(org, entityId));
  return facts;
}

function exampleOf(
  open: OpenEvent,
  { effect, message }: Pick<WhatIfHistory['examples'][number], 'effect' | 'message'>,
): WhatIfHistory['examples'][number] {
  return {
    event_id: open.id,
    occurred_at: toRfc3339(open.occurredAt),
    entity_id: open.entityId,
    actor_kind: open.actorKind,
    actor_id: actorIdOf(open),
    effect,
    message,
  };
}
