import { type AuditOrigin, recordEvent } from './audit/audit.store.ts';
import { ensureAuditPartitions } from './audit/audit-partitions.store.ts';
import { insertGrants } from './auth/role-grants.store.ts';
import { formatToken } from './auth/token.rules.ts';
import { identityBaseUrl } from './compose-identity.ts';
import type { Config } from './config.ts';
import type { Database, Tx } from './db/database.ts';
import { createDemoBuilding, type DemoIds, findDemoIds } from './demo-building.ts';
import { createApiKeysService } from './features/api-keys/api-keys.service.ts';
import { insertOrg } from './features/orgs/org-tree.store.ts';
import { insertUser } from './features/users/users.store.ts';
import {
  type Administrator,
  findAdministrator,
  findInstallation,
  type Installation,
  insertInstallation,
  insertRootOrg,
  lockInstallation,
} from './first-run.store.ts';
import { createSignInLink } from './identity/accounts.ts';
import { systemActor } from './kernel/call.ts';
import type { Clock } from './kernel/clock.ts';
import { hmacSha256, type Secret } from './kernel/secret.ts';
import { ulid } from './kernel/ulid.ts';
import { createPepper, pepperCheck, readPepper, requireSamePepper } from './startup-pepper.ts';

export interface FirstRunDeps {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  /** Whether a later start, too, makes a link. */
  readonly wantsSignInLink: boolean;
}

export interface ReadyInstallation {
  readonly rootOrgId: string;
  readonly homeOrgId: string;
  readonly pepper: Secret;
  readonly adminEmail: string | null;
  readonly demo: DemoIds;
  /** Shown once, by the start that made it. */
  readonly apiKey: string | null;
  readonly signInUrl: string | null;
}

const keyLifetimeMs = 365 * 86_400_000;

/** Makes the installation on an empty database, in one transaction; finds it on any other. */
export async function prepareInstallation(deps: FirstRunDeps): Promise<ReadyInstallation> {
  const { config, db } = deps;
  const known = readPepper(config);
  // Before the first event: one in the default partition would keep its whole day there.
  await ensureAuditPartitions(db.direct, 3);
  // As the service: no organization exists before this, and the roots of all of them are made here.
  return db.asService(async (tx) => {
    await lockInstallation(tx);
    const found = await findInstallation(tx);
    if (found === null) return install(deps, tx, known ?? createPepper(config));
    return resume(deps, tx, found, requireSamePepper(known, found.pepperCheck, config.dataDir));
  });
}

async function resume(
  deps: FirstRunDeps,
  tx: Tx,
  { rootOrgId, homeOrgId }: Installation,
  pepper: Secret,
): Promise<ReadyInstallation> {
  const administrator = await findAdministrator(tx, rootOrgId, deps.config.adminEmail);
  const wantsLink = deps.wantsSignInLink && administrator !== null;
  const signInUrl = wantsLink ? await signInLink(deps.config, tx, pepper, administrator) : null;
  const demo = await findDemoIds(tx, homeOrgId);
  const adminEmail = administrator?.email ?? null;
  return { rootOrgId, homeOrgId, pepper, adminEmail, demo, apiKey: null, signInUrl };
}

async function install(deps: FirstRunDeps, tx: Tx, pepper: Secret): Promise<ReadyInstallation> {
  const { config } = deps;
  const origin: AuditOrigin = { actor: systemActor, source: 'system', correlationId: ulid() };
  const rootOrgId = await createRootOrg(tx, origin);
  const administrator = await createAdministrator(tx, origin, rootOrgId, config.adminEmail);
  const homeOrgId = config.demo ? await createDemoOrg(tx, origin, rootOrgId) : rootOrgId;
  const demo = config.demo
    ? await createDemoBuilding(tx, { orgId: homeOrgId, administratorId: administrator.userId, origin })
    : {};
  const apiKey = await createKey(deps, tx, origin, { orgId: homeOrgId, pepper, administrator });
  const signInUrl = await signInLink(config, tx, pepper, administrator);
  await insertInstallation(tx, { rootOrgId, homeOrgId, pepperCheck: pepperCheck(pepper) });
  return { rootOrgId, homeOrgId, pepper, adminEmail: administrator.email, demo, apiKey, signInUrl };
}

/** Null where an external provider signs people in. */
async function signInLink(config: Config, tx: Tx, pepper: Secret, administrator: Administrator) {
  if (config.identityUrl !== null) return null;
  return createSignInLink({ pepper, baseUrl: identityBaseUrl(config) }, tx, administrator);
}

async function createRootOrg(tx: Tx, origin: AuditOrigin): Promise<string> {
  const id = ulid();
  const name = 'Lintel';
  await insertRootOrg(tx, id, { en: name });
  await recordEvent(tx, origin, { orgId: id, type: 'org.created', resource: { type: 'org', id, name } });
  return id;
}

/** The building gets an organization of its own: its key must not be a key to the whole platform. */
async function createDemoOrg(tx: Tx, origin: AuditOrigin, rootOrgId: string): Promise<string> {
  const id = ulid();
  const name = 'Maple Court';
  const parent = { id: rootOrgId, path: [rootOrgId], defaultLocale: 'en' };
  await insertOrg(tx, {
    id,
    parent,
    name: { en: name },
    description: 'A demo building with simulated doors.',
  });
  const resource = { type: 'org', id, name };
  await recordEvent(tx, origin, {
    orgId: id,
    type: 'org.created',
    resource,
    details: { parent_id: rootOrgId },
  });
  return id;
}

/** Of the administrator and of their first key: scripts know no bypass for administrators. */
const firstRoles = ['admin', 'execute'] as const;

async function createAdministrator(
  tx: Tx,
  origin: AuditOrigin,
  rootOrgId: string,
  email: string,
): Promise<Administrator> {
  const userId = ulid();
  const name = 'Administrator';
  await insertUser(tx, userId, { name: { en: name }, email, emailIsSynthetic: false, phone: null });
  const roles = [...firstRoles];
  await insertGrants(
    tx,
    userId,
    roles.map((role) => ({ orgId: rootOrgId, role })),
    userId,
  );
  const resource = { type: 'user', id: userId, name };
  const details = { roles: { [rootOrgId]: roles } };
  await recordEvent(tx, origin, { orgId: rootOrgId, type: 'user.created', resource, details });
  return { userId, email };
}

async function createKey(
  { config, db, clock }: FirstRunDeps,
  tx: Tx,
  origin: AuditOrigin,
  { orgId, pepper, administrator }: { orgId: string; pepper: Secret; administrator: Administrator },
): Promise<string> {
  const tokenFormat = { apiBase: `${config.publicUrl}/api/v1`, brand: config.brand };
  const keys = createApiKeysService({
    db,
    clock,
    hashSecret: (secret) => hmacSha256(pepper, secret),
    formatToken: (secret) => formatToken(tokenFormat, secret),
  });
  const name = 'First key';
  const key = await keys.issue(tx, orgId, {
    name,
    createdByUserId: administrator.userId,
    agentId: null,
    scopedRoles: [...firstRoles],
    scopedEntityIds: null,
    expiresAt: new Date(clock.millis() + keyLifetimeMs),
  });
  const resource = { type: 'api_key', id: key.id, name };
  await recordEvent(tx, origin, { orgId, type: 'api_key.created', resource });
  return key.token;
}
