import type { PutLockdownRequest } from '@lintel/contract/holds';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database } from '../../db/database.ts';
import { invalid } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalOf } from '../../kernel/call.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ulid } from '../../kernel/ulid.ts';
import { parseReason, parseUntil } from './holds.rules.ts';
import { deleteLockdown, insertLockdown, type LockdownRecord, listLockdowns } from './holds.store.ts';

export interface LockdownDeps {
  readonly db: Database;
  readonly clock: Clock;
}

export interface LockdownService {
  /** The outermost one in force here; null when there is none. */
  find(org: OrgScope): Promise<LockdownRecord | null>;
  set(call: Call, org: OrgScope, input: PutLockdownRequest): Promise<LockdownRecord | null>;
}

export function createLockdownService(deps: LockdownDeps): LockdownService {
  return {
    find: (org) => find(deps, org),
    set: async (call, org, input) => {
      await set(deps, call, org, input);
      return await find(deps, org);
    },
  };
}

/** The path too: what holds above holds here. */
async function find({ db, clock }: LockdownDeps, org: OrgScope): Promise<LockdownRecord | null> {
  const [outermost] = await db.inOrg(org.path, (tx) => listLockdowns(tx, org.path, clock.now()));
  return outermost ?? null;
}

async function set(
  { db, clock }: LockdownDeps,
  call: Call,
  org: OrgScope,
  { active, ...input }: PutLockdownRequest,
): Promise<void> {
  const until = parseUntil(input.until ?? null, clock.now());
  const reason = parseReason(input.reason ?? null);
  if (!active && until !== null) throw invalid('/until', 'belongs to an active lockdown');
  const id = active ? ulid() : null;
  await db.inOrg(org.id, async (tx) => {
    await deleteLockdown(tx, org.id);
    if (id !== null) await insertLockdown(tx, { id, orgId: org.id, reason, until }, principalOf(call).userId);
    await recordEvent(tx, originOf(call), {
      orgId: org.id,
      type: 'org.lockdown_changed',
      resource: { type: 'org', id: org.id },
      details: { active, lockdown_id: id, reason, until },
    });
  });
}
