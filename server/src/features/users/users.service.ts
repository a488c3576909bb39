import { originOf, recordEvent } from '../../audit/audit.store.ts';
import { insertGrants } from '../../auth/role-grants.store.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, hasRole, type OrgScope, principalOf } from '../../kernel/call.ts';
import { pickText } from '../../kernel/text.ts';
import { isUlid, ulid } from '../../kernel/ulid.ts';
import { changeUser, requireWholeUser, type UsersDeps, visibleUser } from './user-change.ts';
import { findOrgUsers, type ListUsersInput, type SearchUsersInput, searchUsers } from './user-directory.ts';
import { purgeUser, restoreUser, softDeleteUser } from './user-lifecycle.ts';
import { addRoles, removeRoles, requireGrantableMap } from './user-roles.ts';
import { grantsIn, parseEmail, parseRoleMap, parseUserName, reachOf, syntheticEmail } from './users.rules.ts';
import { findUser, insertUser, type User, type UserFields, updateUser } from './users.store.ts';

export interface UpdateUserInput {
  readonly name?: unknown;
  readonly email?: string | null;
  readonly phone?: string | null;
}

export interface CreateUserInput extends UpdateUserInput {
  readonly id?: string | null;
  readonly password?: string | null;
  readonly roles?: Readonly<Record<string, string[]>> | null;
}

type RoleMapInput = Readonly<Record<string, string[]>>;
type UserPage = { items: User[]; total: number };

export interface UsersService {
  get(call: Call, org: OrgScope, id: string, includeDeleted: boolean): Promise<User>;
  search(call: Call, org: OrgScope, input: SearchUsersInput): Promise<UserPage>;
  list(call: Call, org: OrgScope, input: ListUsersInput): Promise<UserPage>;
  create(call: Call, org: OrgScope, input: CreateUserInput): Promise<User>;
  update(call: Call, org: OrgScope, id: string, input: UpdateUserInput): Promise<User>;
  delete(call: Call, org: OrgScope, id: string): Promise<User>;
  restore(call: Call, org: OrgScope, id: string): Promise<User>;
  purge(call: Call, org: OrgScope, id: string): Promise<User>;
  addRoles(call: Call, org: OrgScope, id: string, roles: RoleMapInput): Promise<User>;
  removeRoles(call: Call, org: OrgScope, id: string, roles: RoleMapInput): Promise<User>;
}

export function createUsersService(deps: UsersDeps): UsersService {
  return {
    get: (call, org, id, includeDeleted) => getUser(deps, call, org, id, includeDeleted),
    search: (call, org, input) => searchUsers(deps, principalOf(call), org, input),
    list: (call, org, input) => findOrgUsers(deps, principalOf(call), org, input),
    create: (call, org, input) => createUser(deps, call, org, input),
    update: (call, org, id, input) => changeFields(deps, call, org, id, input),
    delete: (call, org, id) => softDeleteUser(deps, call, org, id),
    restore: (call, org, id) => restoreUser(deps, call, org, id),
    purge: (call, org, id) => purgeUser(deps, call, org, id),
    addRoles: (call, org, id, roles) => addRoles(deps, call, org, id, roles),
    removeRoles: (call, org, id, roles) => removeRoles(deps, call, org, id, roles),
  };
}

async function getUser(deps: UsersDeps, call: Call, org: OrgScope, id: string, includeDeleted: boolean) {
  if (!isUlid(id)) throw notFound();
  const reach = reachOf(principalOf(call), org, deps.rootOrgId);
  // As the service: the reach of an administrator is a subtree, which may be too long to list as a scope.
  return deps.db.asService((tx) => visibleUser(tx, reach, id, includeDeleted));
}

async function createUser(deps: UsersDeps, call: Call, org: OrgScope, input: CreateUserInput): Promise<User> {
  const principal = principalOf(call);
  const id = input.id ?? ulid();
  const fields = newFields(id, org, input);
  const password = usablePassword(fields, input.password ?? null);
  const roles = parseRoleMap(input.roles ?? {}, org.id);
  if (roles.size === 0 && !hasRole(principal, { id: deps.rootOrgId, path: [deps.rootOrgId] }, 'admin')) {
    throw new AppError('forbidden', 'only a platform administrator may create a user without roles');
  }
  const name = pickText(fields.name, org.defaultLocale);
  // As the service: roles may be given in several organizations at once.
  return deps.db.asService(async (tx) => {
    await requireGrantableMap(tx, principal, roles);
    await insertUser(tx, id, fields);
    if (roles.size > 0) await insertGrants(tx, id, grantsIn(roles), principal.userId);
    if (password !== null)
      await deps.accounts.createIdentity(tx, { email: fields.email, password, name }, id);
    const resource = { type: 'user', id, name };
    const details = { roles: Object.fromEntries(roles), has_password: password !== null };
    await recordEvent(tx, originOf(call), { orgId: org.id, type: 'user.created', resource, details });
    const created = await findUser(tx, reachOf(principal, org, deps.rootOrgId), id);
    if (created === null) throw new Error('the user just inserted is not there');
    return created;
  });
}

function newFields(id: string, org: OrgScope, input: CreateUserInput): UserFields {
  const phone = input.phone ?? null;
  const email = input.email == null ? null : parseEmail(input.email);
  if (email === null && phone === null) throw invalid('/email', 'is required (or phone)');
  return {
    name: parseUserName(input.name, org.defaultLocale),
    email: email ?? syntheticEmail(id),
    emailIsSynthetic: email === null,
    phone,
  };
}

function usablePassword(fields: UserFields, password: string | null): string | null {
  if (password !== null && fields.emailIsSynthetic)
    throw invalid('/password', 'needs an email address to sign in with');
  return password;
}

function changeFields(
  deps: UsersDeps,
  call: Call,
  org: OrgScope,
  id: string,
  input: UpdateUserInput,
): Promise<User> {
  const name = input.name == null ? null : parseUserName(input.name, org.defaultLocale);
  const email = input.email == null ? null : parseEmail(input.email);
  return changeUser(deps, call, org, id, {
    type: 'user.updated',
    work: async (change) => {
      const { user } = change;
      const phone = input.phone === undefined ? user.phone : input.phone;
      const emailIsSynthetic = user.emailIsSynthetic && email === null;
      if (phone === null && emailIsSynthetic) throw invalid('/phone', 'is the only way to reach this user');
      const fields = { name: name ?? user.name, email: email ?? user.email, emailIsSynthetic, phone };
      // Who holds a person's addresses can become that person, everywhere they belong.
      if (fields.email !== user.email || phone !== user.phone) await requireWholeUser(change);
      await updateUser(change.tx, id, fields);
      await deps.accounts.updateTraits(change.tx, id, {
        ...(fields.email === user.email ? {} : { email: fields.email }),
        ...(name === null ? {} : { name: pickText(name, org.defaultLocale) }),
      });
      return { changed: changedFields(user, fields) };
    },
  });
}

function changedFields(before: UserFields, after: UserFields): string[] {
  const names = ['name', 'email', 'phone'] as const;
  return names.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
}
