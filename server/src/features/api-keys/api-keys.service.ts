import type { Role } from '@lintel/contract/roles';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { unknownEntityIds } from '../../db/entity-ids.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, hasRole, type OrgScope, type Principal, principalOf } from '../../kernel/call.ts';
import { type Clock, toRfc3339 } from '../../kernel/clock.ts';
import { earlierExpiry, expiryOf, requiredExpiry } from '../../kernel/expiry.ts';
import { generateToken } from '../../kernel/secret.ts';
import { cleanText } from '../../kernel/text.ts';
import { ulid } from '../../kernel/ulid.ts';
import { grantableScope, judgeRestore, type RestoreVerdict, requireMayProlong } from './api-keys.rules.ts';
import {
  type ApiKey,
  agentLifeOf,
  deleteKey,
  insertKey,
  listKeys,
  lockKey,
  setRevoked,
  updateKey,
} from './api-keys.store.ts';

export interface ApiKeysDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly hashSecret: (secret: string) => Buffer;
  readonly formatToken: (secret: string) => string;
}

export interface IssueKey {
  readonly name: string;
  readonly createdByUserId: string;
  readonly agentId: string | null;
  readonly scopedRoles: Role[] | null;
  readonly scopedEntityIds: string[] | null;
  readonly expiresAt: Date;
}

export interface IssuedKey extends IssueKey {
  readonly id: string;
  readonly token: string;
  readonly tokenSuffix: string;
  readonly createdAt: Date;
}

export interface CreateKeyInput {
  readonly name: string;
  readonly expires_at?: string | null;
  readonly expires_in?: string | null;
  readonly scoped_roles?: string[] | null;
  readonly scoped_entity_ids?: string[] | null;
}

export interface ApiKeysService {
  /** Also used for agents' credentials: a credential is a key. */
  issue(tx: Tx, orgId: string, key: IssueKey): Promise<IssuedKey>;
  create(call: Call, org: OrgScope, input: CreateKeyInput): Promise<IssuedKey>;
  list(
    call: Call,
    org: OrgScope,
    page: { limit: number; offset: number },
  ): Promise<{ items: ApiKey[]; total: number }>;
  update(call: Call, org: OrgScope, id: string, input: UpdateKeyInput): Promise<void>;
  revoke(call: Call, org: OrgScope, id: string): Promise<void>;
  restore(call: Call, org: OrgScope, id: string): Promise<void>;
  purge(call: Call, org: OrgScope, id: string): Promise<void>;
}

export type UpdateKeyInput = Pick<CreateKeyInput, 'name' | 'expires_at' | 'expires_in'>;

export function createApiKeysService(deps: ApiKeysDeps): ApiKeysService {
  const { db, clock } = deps;
  return {
    issue: (tx, orgId, key) => issueKey(deps, tx, orgId, key),
    create: (call, org, input) => createKey(deps, call, org, input),
    list: (call, org, page) => {
      const principal = principalOf(call);
      const ownerUserId = hasRole(principal, org, 'admin') ? null : principal.userId;
      return db.inOrg(org.id, (tx) => listKeys(tx, org.id, { ...page, ownerUserId }));
    },
    update: (call, org, id, input) => {
      const name = cleanName(input.name);
      const expiresAt = expiryOf(input, clock.now());
      return changeKey(deps, call, org, id, 'api_key.updated', async (tx, key) => {
        const agent = await agentLifeOf(tx, key);
        if (agent !== null && agent.revokedAt !== null) throw refusal('agent_revoked');
        const capped = expiresAt && earlierExpiry(expiresAt, agent?.expiresAt ?? null);
        if (capped !== null && capped > key.expiresAt) requireMayProlong(principalOf(call), org, id);
        await updateKey(tx, org.id, id, name, capped);
      });
    },
    revoke: (call, org, id) =>
      changeKey(deps, call, org, id, 'api_key.revoked', (tx) => setRevoked(tx, org.id, id, true)),
    restore: (call, org, id) =>
      changeKey(deps, call, org, id, 'api_key.restored', async (tx, key) => {
        const verdict = judgeRestore(key, await agentLifeOf(tx, key), clock.now());
        if (verdict !== 'ok') throw refusal(verdict);
        await setRevoked(tx, org.id, id, false);
      }),
    purge: (call, org, id) =>
      changeKey(deps, call, org, id, 'api_key.purged', async (tx, key) => {
        if (key.revokedAt === null) throw new AppError('key_not_revoked', 'revoke the key before purging it');
        await deleteKey(tx, org.id, id);
      }),
  };
}

const refusals = {
  key_not_revoked: 'the key is not revoked',
  key_expired: 'the key is expired',
  agent_revoked: 'the agent of this credential is revoked',
} as const satisfies Record<Exclude<RestoreVerdict, 'ok'>, string>;

function refusal(code: keyof typeof refusals): AppError {
  return new AppError(code, refusals[code]);
}

async function issueKey(deps: ApiKeysDeps, tx: Tx, orgId: string, key: IssueKey): Promise<IssuedKey> {
  const id = ulid();
  const secret = generateToken();
  const tokenSuffix = secret.slice(-6);
  const secretHash = deps.hashSecret(secret);
  const createdAt = await insertKey(tx, { ...key, id, orgId, secretHash, tokenSuffix });
  return { ...key, id, tokenSuffix, createdAt, token: deps.formatToken(secret) };
}

async function createKey(
  deps: ApiKeysDeps,
  call: Call,
  org: OrgScope,
  input: CreateKeyInput,
): Promise<IssuedKey> {
  const principal = principalOf(call);
  const name = cleanName(input.name);
  const scope = grantableScope(principal, org, {
    roles: input.scoped_roles ?? null,
    entityIds: input.scoped_entity_ids ?? null,
  });
  const expiresAt = requiredExpiry(input, deps.clock.now());
  return deps.db.inOrg(org.id, async (tx) => {
    await requireKnownEntities(tx, org.id, scope.entityIds ?? []);
    const key = await issueKey(deps, tx, org.id, {
      name,
      createdByUserId: principal.userId,
      agentId: null,
      scopedRoles: scope.roles,
      scopedEntityIds: scope.entityIds,
      expiresAt,
    });
    const details = {
      scoped_roles: scope.roles,
      scoped_entity_ids: scope.entityIds,
      expires_at: toRfc3339(expiresAt),
    };
    const resource = { type: 'api_key', id: key.id, name };
    await recordEvent(tx, originOf(call), { orgId: org.id, type: 'api_key.created', resource, details });
    return key;
  });
}

type KeyChange = 'api_key.updated' | 'api_key.revoked' | 'api_key.restored' | 'api_key.purged';

/** Locks a key the caller may manage, changes it and writes the event: all in one transaction. */
async function changeKey(
  deps: ApiKeysDeps,
  call: Call,
  org: OrgScope,
  id: string,
  type: KeyChange,
  work: (tx: Tx, key: ApiKey) => Promise<void>,
): Promise<void> {
  await deps.db.inOrg(org.id, async (tx) => {
    const key = await lockKey(tx, org.id, id);
    if (key === null || !mayManage(principalOf(call), org, key)) throw notFound();
    await work(tx, key);
    await recordEvent(tx, originOf(call), {
      orgId: org.id,
      type,
      resource: { type: 'api_key', id, name: key.name },
    });
  });
}

function cleanName(input: string): string {
  const name = cleanText(input, { maxLength: 120 });
  if (!name.ok) throw invalid('/name', name.reason);
  return name.text;
}

/** Administrators manage every key of the organization, others their own. */
function mayManage(principal: Principal, org: OrgScope, key: ApiKey): boolean {
  return key.createdByUserId === principal.userId || hasRole(principal, org, 'admin');
}

async function requireKnownEntities(tx: Tx, orgId: string, ids: readonly string[]): Promise<void> {
  const unknown = await unknownEntityIds(tx, orgId, ids);
  const [first] = unknown;
  if (first !== undefined)
    throw invalid('/scoped_entity_ids', `${first} is not an entity of this organization`);
}
