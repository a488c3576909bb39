import { setTimeout as wait } from 'node:timers/promises';
import type { AuditRecord, ListAuditEventsQuery } from '@lintel/contract/audit';
import type { Command } from 'commander';
import { type Context, requireToken, type Start } from '../context.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { visible } from '../terminal/visible-text.ts';
import { wholeNumber } from './option-values.ts';
import { orgOf } from './org-of.ts';

interface Options {
  readonly lines: number;
  readonly follow?: boolean;
  readonly eventType?: string;
  readonly outcome?: string;
  readonly actorKind?: string;
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly door?: string;
  readonly correlationId?: string;
  readonly interval: number;
}

export function addAuditCommand(program: Command, start: Start): void {
  program
    .command('audit')
    .description('what happened')
    .command('tail')
    .option('-n, --lines <count>', 'how many of the newest events, at most 200', wholeNumber, 20)
    .option('-f, --follow', 'go on with new events until Ctrl-C')
    .option('--event-type <type>', 'for example entity.action')
    .option('--outcome <outcome>', 'succeeded, failed or denied')
    .option('--actor-kind <kind>', 'for example user, api_key or agent')
    .option('--resource-type <type>', 'for example entity')
    .option('--resource-id <id>')
    .option('--door <name>', 'a part of the name of the door')
    .option('--correlation-id <id>')
    .option('--interval <seconds>', 'how often --follow looks', wholeNumber, 2)
    .description('the newest audit events, the newest last; with --json one document on each line')
    .action((options: Options, command: Command) => tail(start(command), options));
}

async function tail(context: Context, options: Options): Promise<void> {
  requireToken(context);
  const orgId = await orgOf(context);
  const read = (query: ListAuditEventsQuery) =>
    context.client('list_audit_events', { params: { org_id: orgId }, query });
  const filters = filtersOf(options);
  const lines = Math.min(options.lines, pageSize);
  if (options.follow === true) return follow(context, read, filters, lines, options.interval);
  print(context, (await read({ ...filters, limit: lines })).items.toReversed());
}

async function follow(
  context: Context,
  read: Read,
  filters: ListAuditEventsQuery,
  lines: number,
  interval: number,
): Promise<void> {
  const recent = await readRecent(read, filters);
  print(context, recent.slice(0, lines).reverse());
  const seen = new Set(recent.map(({ id }) => id));
  let newest = recent[0]?.occurred_at;
  while (await pause(context, interval)) {
    const fresh = await readSince(read, filters, newest, seen).catch((error: unknown) => {
      if (context.world.signal.aborted) return [];
      throw error;
    });
    print(context, fresh);
    newest = laterOf(newest, fresh.at(-1)?.occurred_at);
  }
}

const filtersOf = (options: Options): ListAuditEventsQuery => ({
  ...(options.eventType === undefined ? {} : { event_type: options.eventType }),
  ...(options.outcome === undefined ? {} : { outcome: options.outcome }),
  ...(options.actorKind === undefined ? {} : { actor_kind: options.actorKind }),
  ...(options.resourceType === undefined ? {} : { resource_type: options.resourceType }),
  ...(options.resourceId === undefined ? {} : { resource_id: options.resourceId }),
  ...(options.door === undefined ? {} : { door_name: options.door }),
  ...(options.correlationId === undefined ? {} : { correlation_id: options.correlationId }),
});

/** False after Ctrl-C, which is how one stops following. */
async function pause({ world }: Context, seconds: number): Promise<boolean> {
  await wait(seconds * 1000, undefined, { signal: world.signal }).catch(() => undefined);
  return !world.signal.aborted;
}

type Read = (query: ListAuditEventsQuery) => Promise<{
  readonly items: readonly AuditRecord[];
  readonly next_cursor: string | null;
}>;

/** Transactions end in another order than they begin, so the last seconds are read again and known events left out. */
const overlapMs = 10_000;
const pageSize = 200;

const overlapStart = (newest: string): string => new Date(Date.parse(newest) - overlapMs).toISOString();

/** INVARIANT: it never goes back, or the overlap would reach events that were never read. */
const laterOf = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && Date.parse(other) > Date.parse(one)) ? other : one;

/** Newest first: all that the next look reads again, however few of them are shown. */
async function readRecent(read: Read, filters: ListAuditEventsQuery): Promise<AuditRecord[]> {
  const page = await read({ ...filters, limit: pageSize });
  const recent = [...page.items];
  const [newest] = recent;
  if (newest === undefined) return recent;
  const after = Date.parse(overlapStart(newest.occurred_at));
  for (let cursor = page.next_cursor; cursor !== null && isAfter(recent.at(-1), after); ) {
    const next = await read({ ...filters, limit: pageSize, cursor });
    recent.push(...next.items);
    cursor = next.next_cursor;
  }
  return recent;
}

const isAfter = (event: AuditRecord | undefined, ms: number): boolean =>
  event !== undefined && Date.parse(event.occurred_at) >= ms;

/** Oldest first. */
async function readSince(
  read: Read,
  filters: ListAuditEventsQuery,
  newest: string | undefined,
  seen: Set<string>,
): Promise<AuditRecord[]> {
  const fresh: AuditRecord[] = [];
  const after = newest === undefined ? {} : { occurred_after: overlapStart(newest) };
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await read({ ...filters, ...after, limit: pageSize, ...(cursor === '' ? {} : { cursor }) });
    fresh.push(...page.items.filter(({ id }) => !seen.has(id)));
    cursor = after.occurred_after === undefined ? null : page.next_cursor;
  }
  for (const { id } of fresh) seen.add(id);
  return fresh.reverse();
}

function print({ terminal, isJson }: Context, events: readonly AuditRecord[]): void {
  for (const event of events) {
    if (isJson) terminal.printJson(event);
    else terminal.print(lineOf(event, terminal));
  }
}

function lineOf(event: AuditRecord, { style }: Terminal): string {
  const paint =
    event.outcome === 'succeeded' ? style.green : event.outcome === 'denied' ? style.yellow : style.red;
  const name = event.details.resource_name ?? event.details.name;
  const resource = [event.resource_type, typeof name === 'string' ? `"${name}"` : event.resource_id];
  return [
    style.dim(event.occurred_at),
    paint(event.outcome.padEnd(9)),
    event.event_type,
    visible(resource.filter((part) => part !== null).join(' ')),
    style.dim(`by ${event.actor_kind} ${visible(actorOf(event))}`.trim()),
  ].join('  ');
}

const actorOf = (event: AuditRecord): string =>
  event.actor_agent_id ?? event.actor_guest_id ?? event.actor_user_id ?? event.actor_api_key_id ?? '';
