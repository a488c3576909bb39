import type { Database, Tx } from '../db/database.ts';
import type { OrgScope } from '../kernel/call.ts';
import { createLru, type Lru } from '../kernel/lru.ts';
import { indexPolicies, type OrgPolicies } from './org-policies.ts';
import {
  findLockdown,
  listEnabledPolicies,
  listHolds,
  listPolicyVersions,
  type PolicyVersion,
} from './policy.store.ts';
import type { PolicySnapshot } from './typed-rules.ts';
import { isTimeZone } from './zone-clock.ts';

export interface Policies {
  /** The policies that hold in an organization. One object for one epoch, so that answers can be kept with it. */
  snapshot(org: Pick<OrgScope, 'id' | 'path' | 'epoch'>): Promise<PolicySnapshot>;
}

interface Kept {
  readonly epoch: number;
  readonly snapshot: Promise<PolicySnapshot>;
}

interface Indexed {
  readonly version: string;
  readonly policies: OrgPolicies;
}

interface Deps {
  readonly db: Database;
  readonly indexed: Lru<string, Indexed>;
}

/**
 * By organization epoch, like targets: a policy is read at the epoch or later, never earlier, and the commit refuses
 * what was decided under an old one. A new epoch reads the rows of an organization again only when they changed.
 */
export function createPolicies(db: Database): Policies {
  const kept = createLru<string, Kept>(2_000);
  const deps: Deps = { db, indexed: createLru(2_000) };
  return {
    async snapshot(org) {
      const known = kept.get(org.id);
      if (known?.epoch === org.epoch) return await known.snapshot;
      const snapshot = readSnapshot(deps, org.path);
      kept.set(org.id, { epoch: org.epoch, snapshot });
      try {
        return await snapshot;
      } catch (error) {
        if (kept.get(org.id)?.snapshot === snapshot) kept.delete(org.id);
        throw error;
      }
    },
  };
}

async function readSnapshot({ db, indexed }: Deps, path: readonly string[]): Promise<PolicySnapshot> {
  return await db.inOrg(path, async (tx) => {
    const orgs: OrgPolicies[] = [];
    // The version first: rows read after it are as new or newer, so a version never stands for older rows.
    for (const version of await listPolicyVersions(tx, path)) {
      const key = `${version.version} ${version.timezone}`;
      const known = indexed.get(version.orgId);
      if (known?.version === key) {
        orgs.push(known.policies);
        continue;
      }
      const policies = await readOrg(tx, version);
      indexed.set(version.orgId, { version: key, policies });
      orgs.push(policies);
    }
    return { orgs };
  });
}

async function readOrg(tx: Tx, version: PolicyVersion): Promise<OrgPolicies> {
  const { orgId } = version;
  if (version.version === 0) return indexPolicies(zoneOf(version), []);
  const rows = await listEnabledPolicies(tx, orgId);
  const holds = await listHolds(tx, orgId);
  return indexPolicies(zoneOf(version), rows, { holds, lockdown: await findLockdown(tx, orgId) });
}

/** Zones are checked when they are set; one that this node does not know is read as unset. */
function zoneOf({ timezone }: PolicyVersion): string {
  return timezone !== null && isTimeZone(timezone) ? timezone : 'UTC';
}
