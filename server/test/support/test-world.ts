import pg from 'pg';
import { generateToken, hmacSha256, Secret } from '../../src/kernel/secret.ts';
import { ulid } from '../../src/kernel/ulid.ts';
import { type Keyring, parseKeyring } from '../../src/secrets/keyring.ts';
import type { TestDatabase } from './test-database.ts';

export const testPepper = new Secret('a pepper for tests only');
export const testKeyring = keyringOfTests('a key encryption key that only tests');
/** How long a node waits for its database, where that is not what is tested: tests share a machine. */
export const patientMs = 15_000;
export const testPublicUrl = 'http://localhost:8080';
export const rootOrgId = '01AAAAAAAAAAAAAAAAAAAAAAAA';
export const rootAdminId = '01AAAAAAAAAAAAAAAAAAAAAADM';

function keyringOfTests(text: string): Keyring {
  const keyring = parseKeyring(new Secret(Buffer.alloc(32, text).toString('base64url')));
  if (keyring === null) throw new Error('the keyring of the tests has the wrong shape');
  return keyring;
}

/** The root organization and a platform administrator, as every installation has them. */
export async function seedInstallation(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`insert into orgs (id, path, name) values ($1, array[$1], '{"en": "Root"}')`, [
    rootOrgId,
  ]);
  await client.query('insert into installation (root_org_id, pepper_check) values ($1, $2)', [
    rootOrgId,
    hmacSha256(testPepper, 'pepper check'),
  ]);
  await client.query(
    `insert into users (id, email, name) values ($1, 'admin@root.test', '{"en": "Root admin"}')`,
    [rootAdminId],
  );
  await client.query(`insert into role_grants (org_id, user_id, role) values ($1, $2, 'admin')`, [
    rootOrgId,
    rootAdminId,
  ]);
  await client.end();
}

export interface KeyOptions {
  readonly scopedRoles?: string[] | null;
  readonly scopedEntityIds?: string[] | null;
  readonly agentId?: string | null;
  readonly expiresAt?: Date;
}

export interface BuildingIds {
  readonly integrationId: string;
  readonly deviceId: string;
  readonly entityId: string;
  readonly zoneId: string;
}

/** Rows put straight into the database, for tests that are about something else. */
export interface BuildingOptions {
  readonly config?: Record<string, unknown>;
  readonly entityType?: string;
  readonly enabled?: boolean;
}

export interface World {
  org(options?: { parentId?: string; name?: string }): Promise<string>;
  user(options?: { email?: string; name?: string }): Promise<string>;
  grant(orgId: string, userId: string, ...roles: string[]): Promise<void>;
  /** Returns the full token and the key's id. */
  key(orgId: string, userId: string, options?: KeyOptions): Promise<{ token: string; id: string }>;
  agent(
    orgId: string,
    ownerUserId: string,
    options?: { allowedEntityIds?: string[] | null; confirmationMode?: string },
  ): Promise<string>;
  /** A virtual_demo integration with one door. What is not `enabled` reports no states. */
  building(orgId: string, options?: BuildingOptions): Promise<BuildingIds>;
}

export function createWorld(db: TestDatabase): World {
  return {
    org: (options = {}) => insertOrg(db, options.parentId ?? rootOrgId, options.name ?? 'Org'),
    async user({ email, name = 'User' } = {}) {
      const id = ulid();
      const values = [id, email ?? `${id.toLowerCase()}@users.test`, { en: name }];
      await db.query('insert into users (id, email, name) values ($1, $2, $3)', values);
      return id;
    },
    async grant(orgId, userId, ...roles) {
      const text =
        'insert into role_grants (org_id, user_id, role) values ($1, $2, $3) on conflict do nothing';
      for (const role of roles) await db.query(text, [orgId, userId, role]);
    },
    key: (orgId, userId, options = {}) => insertKey(db, orgId, userId, options),
    async agent(orgId, ownerUserId, options = {}) {
      const id = ulid();
      await db.query(
        `insert into agents (org_id, id, owner_user_id, name, allowed_entity_ids, confirmation_mode)
         values ($1, $2, $3, 'Agent', $4, $5)`,
        [orgId, id, ownerUserId, options.allowedEntityIds ?? null, options.confirmationMode ?? 'policy'],
      );
      return id;
    },
    building: (orgId, options = {}) => insertBuilding(db, orgId, options),
  };
}

async function insertOrg(db: TestDatabase, parentId: string, name: string): Promise<string> {
  const id = ulid();
  const parents = await db.query<{ path: string[] }>('select path from orgs where id = $1', [parentId]);
  const path = [...(parents[0]?.path ?? []), id];
  await db.query('insert into orgs (id, parent_id, path, name) values ($1, $2, $3, $4)', [
    id,
    parentId,
    path,
    { en: name },
  ]);
  return id;
}

async function insertKey(db: TestDatabase, orgId: string, userId: string, options: KeyOptions) {
  const id = ulid();
  const secret = generateToken();
  await db.query(
    `insert into api_keys (org_id, id, name, secret_hash, token_suffix, created_by_user_id, agent_id, scoped_roles,
       scoped_entity_ids, expires_at) values ($1, $2, 'Key', $3, $4, $5, $6, $7, $8, coalesce($9, now() + interval '1 day'))`,
    [
      orgId,
      id,
      hmacSha256(testPepper, secret),
      secret.slice(-6),
      userId,
      options.agentId ?? null,
      options.scopedRoles ?? null,
      options.scopedEntityIds ?? null,
      options.expiresAt ?? null,
    ],
  );
  return { token: `${testPublicUrl}/api/v1_service_${secret}`, id };
}

async function insertBuilding(
  db: TestDatabase,
  orgId: string,
  { config = {}, entityType = 'door', enabled = true }: BuildingOptions,
): Promise<BuildingIds> {
  const [integrationId, deviceId, entityId, zoneId] = [ulid(), ulid(), ulid(), ulid()];
  await db.query(
    `insert into integrations (org_id, id, provider_type, name, config, enabled)
     values ($1, $2, 'virtual_demo', '{"en":"Demo"}', $3, $4)`,
    [orgId, integrationId, config, enabled],
  );
  await db.query(
    `insert into zones (org_id, id, integration_id, name) values ($1, $2, $3, '{"en":"Lobby"}')`,
    [orgId, zoneId, integrationId],
  );
  await db.query(
    `insert into devices (org_id, id, integration_id, name) values ($1, $2, $3, '{"en":"Door"}')`,
    [orgId, deviceId, integrationId],
  );
  await db.query(
    `insert into entities (org_id, id, device_id, zone_id, entity_type, name) values ($1, $2, $3, $4, $5, 'Front door')`,
    [orgId, entityId, deviceId, zoneId, entityType],
  );
  return { integrationId, deviceId, entityId, zoneId };
}
