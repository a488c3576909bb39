import { api, inTime } from '../api.ts';

/** Asked before anything else: a request that is refused would stand in the audit as a denial. */
export interface OrgAccess {
  readonly mayList: boolean;
  readonly mayAct: boolean;
  readonly mayReadAudit: boolean;
}

export async function readAccess(orgId: string): Promise<OrgAccess> {
  const { permissions } = await api('get_org_permissions', { params: { id: orgId }, signal: inTime() });
  const has = (role: string) => permissions.includes('admin') || permissions.includes(role);
  return {
    mayList: has('entities:list'),
    // Managers and residents of a building open what belongs to it; for the rest the service refuses them.
    mayAct:
      has('entities:set_state') || permissions.some((role) => role.startsWith('virtual_access:integration:')),
    mayReadAudit: has('audit:read'),
  };
}
