import type { Role } from '@lintel/contract/roles';
import { type Principal, principalOf } from '../../kernel/call.ts';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { MeService } from './me.service.ts';
import type { Profile } from './me.store.ts';

type Ids = 'get_me_profile' | 'patch_me_profile';

export function meRoutes(me: MeService): HandlersOf<Ids> {
  return {
    get_me_profile: async ({ principal }) => toMeProfile(principal, await me.profile(principal)),
    patch_me_profile: async ({ call, body }) => toMeProfile(principalOf(call), await me.update(call, body)),
  };
}

function toMeProfile(principal: Principal, profile: Profile) {
  const key = principal.kind === 'user' ? null : principal;
  return {
    principal_kind: principal.kind,
    user_id: principal.userId,
    name: profile.name,
    email: profile.email,
    locale: profile.locale,
    org_id: key?.org.id ?? null,
    agent_id: principal.kind === 'agent' ? principal.agentId : null,
    api_key_id: key?.keyId ?? null,
    api_key_expires_at: key === null ? null : toRfc3339(key.expiresAt),
    roles: rolesByOrg(principal),
  };
}

function rolesByOrg({ grants }: Principal): Record<string, Role[]> {
  const roles: Record<string, Role[]> = {};
  for (const { orgId, role } of grants) roles[orgId] = [...(roles[orgId] ?? []), role].sort();
  return roles;
}
