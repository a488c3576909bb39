// Requests of one tenant's people with another tenant's ids: never answered, never told apart from ids that do not exist.
import { ulid } from '../../src/kernel/ulid.ts';
import { expectedStatus, type Prepared, perform, scenarios } from './scenario.ts';
import { gather } from './scenario-parallel.ts';
import { changedTables, idsOfTenant, snapshotTenant } from './scenario-snapshot.ts';
import { type Actor, type Operation, platformActor, type Tenant } from './scenario-world.ts';
import type { Answer, TestApp } from './test-app.ts';

export interface Attack {
  readonly app: TestApp;
  readonly operations: readonly Operation[];
  readonly attackers: readonly Actor[];
  /** The attackers' own organization. */
  readonly home: Tenant;
  /** The one they must not reach. */
  readonly victim: Tenant;
  /** Ids of the victim's that are no secret to the attackers: a child knows its parent's. */
  readonly known?: ReadonlySet<string>;
}

/** One operation with a valid request at home, and one that is valid for the victim's own people. */
interface Target {
  readonly operation: Operation;
  readonly own: Prepared;
  readonly theirs: Prepared;
}

export async function attackViolations(attack: Attack): Promise<string[]> {
  const { app, operations, attackers, home, victim } = attack;
  const targets = await gather(operations, 4, async (operation) => [await prepareTarget(attack, operation)]);
  const secrets = await idsOfTenant(app.db, victim.orgId, home.orgId);
  for (const id of attack.known ?? []) secrets.delete(id);
  const before = await snapshotTenant(app.db, victim.orgId, home.orgId);
  const assaults = targets.flatMap((target) => attackers.map((attacker) => ({ target, attacker })));
  const found = await gather(assaults, 6, ({ target, attacker }) =>
    assault({ ...attack, secrets }, target, attacker),
  );
  const told = await gather(operations, 4, (operation) => changeProblems({ ...attack, secrets }, operation));
  const changed = changedTables(before, await snapshotTenant(app.db, victim.orgId, home.orgId));
  return [
    ...found,
    ...told,
    ...changed.map((table) => `${table} of the victim changed`),
    ...(await controlViolations(attack, targets)),
  ];
}

async function prepareTarget({ app, home, victim }: Attack, operation: Operation): Promise<Target> {
  const { prepare } = scenarios[operation.id];
  const own = await prepare({ app, tenant: home, actor: home.admin, disposable: false });
  const theirs = await prepare({ app, tenant: victim, actor: victim.admin, disposable: false });
  return { operation, own, theirs };
}

/** That the attacks failed says something only because the victim's own people succeed with the very same ids. */
async function controlViolations({ app, victim }: Attack, targets: readonly Target[]): Promise<string[]> {
  const found: string[] = [];
  for (const { operation, theirs } of targets.filter((target) => target.operation.auth !== 'session')) {
    const { byPlatform } = scenarios[operation.id];
    const actor = byPlatform ? await platformActor(app) : victim.admin;
    const answer = await perform(app, operation.id, actor, theirs);
    if (answer.status !== expectedStatus(operation.id))
      found.push(`${operation.id}: the victim's own request is no good: ${answer.status} ${answer.text}`);
  }
  return found;
}

interface Assault extends Attack {
  readonly secrets: ReadonlySet<string>;
}

async function assault(attack: Assault, target: Target, attacker: Actor): Promise<string[]> {
  const { operation } = target;
  const problems = [
    ...(await idProblems(attack, target, attacker)),
    ...(operation.org === 'header' || operation.org === 'principal'
      ? await headerProblems(attack, target, attacker)
      : []),
    ...(operation.audit === null ? await readProblems(attack, target, attacker) : []),
  ];
  return problems.map((problem) => `${operation.id} by ${attacker.name}: ${problem}`);
}

/** Malformed in every way a caller may think of; none of them may be more than unknown. */
const malformedIds = ['not-a-ulid', ulid().toLowerCase(), "' or 1=1 --"];

interface Ref {
  readonly name: string;
  readonly own: string;
  readonly theirs: string | undefined;
  readonly place: 'path' | 'query' | 'body';
}

function refsOf({ own, theirs }: Target): Ref[] {
  const inPath = Object.entries(own.params ?? {}).map(([name, value]) => ({
    name,
    own: value,
    theirs: theirs.params?.[name],
    place: 'path' as const,
  }));
  const elsewhere = Object.entries(own.refs ?? {}).map(([name, value]) => ({
    name,
    own: value,
    theirs: theirs.refs?.[name],
    place: JSON.stringify(own.query ?? {}).includes(value) ? ('query' as const) : ('body' as const),
  }));
  return [...inPath, ...elsewhere];
}

/** The request with other ids in place of its own, wherever they stand: path, query, body, as value or as key. */
function substitute(
  { params, query, body, headers }: Prepared,
  swaps: ReadonlyMap<string, string>,
): Prepared {
  let text = JSON.stringify({ params, query, body });
  for (const [from, to] of swaps) text = text.replaceAll(JSON.stringify(from), JSON.stringify(to));
  return { ...(JSON.parse(text) as Prepared), ...(headers ? { headers } : {}) };
}

async function idProblems(attack: Assault, target: Target, attacker: Actor): Promise<string[]> {
  const refs = refsOf(target);
  const swaps = refs.map((ref) => [ref]);
  const groups = refs.length > 1 ? [...swaps, refs] : swaps;
  const problems: string[] = [];
  for (const group of groups) problems.push(...(await groupProblems(attack, target, attacker, group)));
  return problems;
}

async function groupProblems(attack: Assault, target: Target, attacker: Actor, refs: readonly Ref[]) {
  const label = refs.map((ref) => ref.name).join(' and ');
  const send = (choose: (ref: Ref) => string) => {
    const swaps = new Map(refs.map((ref) => [ref.own, choose(ref)]));
    return perform(attack.app, target.operation.id, attacker, substitute(target.own, swaps));
  };
  const absentIds = new Map(refs.map((ref) => [ref.name, ulid()]));
  const absent = await send((ref) => absentIds.get(ref.name) ?? ref.own);
  const problems = answerProblems(attack, `absent ${label}`, absent);
  if (refs.some((ref) => ref.theirs !== undefined && ref.theirs !== ref.own)) {
    const foreign = await send((ref) => ref.theirs ?? ref.own);
    const used = refs.flatMap((ref) => [ref.theirs ?? ref.own, absentIds.get(ref.name) ?? '']);
    problems.push(...answerProblems(attack, `foreign ${label}`, foreign, new Set(used)));
    if (foreign.status < 300 && refs.some((ref) => ref.place !== 'query'))
      problems.push(`foreign ${label} answered ${foreign.status}`);
    if (blur(foreign, used) !== blur(absent, used))
      problems.push(`foreign ${label} told apart from absent: ${foreign.text} / ${absent.text}`);
  }
  for (const malformed of malformedIds) {
    const answer = await send(() => malformed);
    problems.push(...answerProblems(attack, `malformed ${label}`, answer));
    problems.push(...malformedProblems(`malformed ${label} ${malformed}`, refs, answer, absent));
  }
  return problems;
}

/** In a path a malformed id is as unknown as an absent one; in a body it is a mistake of the caller's. */
function malformedProblems(label: string, refs: readonly Ref[], answer: Answer, absent: Answer): string[] {
  if (absent.status === 401 || absent.status === 403) return [];
  if (refs.every((ref) => ref.place === 'path')) {
    return answer.status === absent.status ? [] : [`${label}: ${answer.status} instead of ${absent.status}`];
  }
  const isRefused = answer.status >= 400 || refs.every((ref) => ref.place === 'query');
  return isRefused ? [] : [`${label}: ${answer.status}`];
}

/** What may differ between two refusals: the request's own id, and the id that was asked for if it is repeated. */
function blur(answer: Answer, ids: readonly string[]): string {
  const { correlationId: _, ...rest } = answer.body ?? {};
  let text = `${answer.status} ${JSON.stringify(rest)}`;
  for (const id of ids) if (id !== '') text = text.replaceAll(id, '<id>');
  return text;
}

async function headerProblems(attack: Assault, target: Target, attacker: Actor): Promise<string[]> {
  const { app, victim } = attack;
  const send = (org: string) => perform(app, target.operation.id, attacker, target.own, { org });
  const absentId = ulid();
  const [foreign, absent] = [await send(victim.orgId), await send(absentId)];
  const ids = [victim.orgId, absentId];
  return [
    ...answerProblems(attack, 'foreign X-Org', foreign, new Set(ids)),
    ...(foreign.status === 403 || foreign.status === 401 ? [] : [`foreign X-Org answered ${foreign.status}`]),
    ...(blur(foreign, ids) === blur(absent, ids)
      ? []
      : [`foreign X-Org told apart from absent: ${foreign.text} / ${absent.text}`]),
    ...(await gather(malformedIds, 1, async (malformed) => {
      const answer = await send(malformed);
      const isRefused = answer.status >= 400 && answer.status < 500;
      return isRefused ? [] : [`malformed X-Org ${malformed} answered ${answer.status}`];
    })),
  ];
}

/** What one's own lists and records show must not include the neighbour's. */
async function readProblems(attack: Assault, target: Target, attacker: Actor): Promise<string[]> {
  const answer = await perform(attack.app, target.operation.id, attacker, target.own);
  return answerProblems(attack, 'own request', answer);
}

/** Nor what changing one's own things answers. */
async function changeProblems(attack: Assault, operation: Operation): Promise<string[]> {
  const { app, home } = attack;
  if (operation.audit === null) return [];
  const own = await scenarios[operation.id].prepare({
    app,
    tenant: home,
    actor: home.admin,
    disposable: false,
  });
  const answer = await perform(app, operation.id, home.admin, own);
  return answerProblems(attack, `${operation.id}: own change`, answer);
}

function answerProblems(
  { secrets, victim }: Assault,
  label: string,
  answer: Answer,
  sent: ReadonlySet<string> = new Set(),
): string[] {
  const problems: string[] = [];
  if (answer.status >= 500 && answer.status !== 501)
    problems.push(`${label} answered ${answer.status}: ${answer.text}`);
  if (answer.text.includes(victim.marker))
    problems.push(`${label} shows a name of the victim: ${answer.text}`);
  const leaked = [...secrets].find((id) => !sent.has(id) && answer.text.includes(id));
  if (leaked !== undefined) problems.push(`${label} shows ${leaked} of the victim: ${answer.text}`);
  return problems;
}
