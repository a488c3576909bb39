import type { Organization } from '@lintel/contract/orgs';
import { api, inTime } from '../api.ts';
import { readAccess } from './org-access.ts';

const storageKey = 'lintel.org';
/** How many organizations are asked for doors before the first one is shown as it is. */
const maxLooks = 20;

export function rememberOrg(id: string): void {
  localStorage.setItem(storageKey, id);
}

/** The one used last in this browser; else the first with something to open. */
export async function chooseOrg(orgs: readonly Organization[]): Promise<Organization | undefined> {
  const remembered = orgs.find(({ id }) => id === localStorage.getItem(storageKey));
  if (remembered !== undefined || orgs.length < 2) return remembered ?? orgs[0];
  for (const org of orgs.slice(0, maxLooks)) if (await hasEntities(org.id)) return org;
  return orgs[0];
}

async function hasEntities(orgId: string): Promise<boolean> {
  const { mayList } = await readAccess(orgId);
  if (!mayList) return false;
  const headers = { 'x-org': orgId };
  const { total } = await api('list_entities', { query: { limit: 0 }, headers, signal: inTime() });
  return total > 0;
}
