/** The closed set of plain roles. Building roles carry an integration id and are recognised by their pattern. */
export const roleTable = {
  admin: 'Everything in the organization and in all its descendants.',
  execute: 'Run scripts.',
  'api_keys:create': 'Create, list, change and revoke API keys.',
  ...crudRoles('devices'),
  ...crudRoles('entities'),
  'entities:set_state': 'Execute and preview entity actions: open, close, toggle.',
  ...crudRoles('integrations'),
  'integrations:secrets': 'Read integration secrets; every read is audited.',
  ...crudRoles('orgs'),
  ...crudRoles('users'),
  ...crudRoles('zones'),
  'agents:manage': 'Create, change, revoke agents and issue their credentials.',
  'aliases:manage': 'Manage spoken names.',
  'audit:read': 'List audit events.',
  'audit:export': 'Create and fetch audit exports.',
  'copilot:use': 'Use the copilot.',
  'invites:manage': 'Manage access invites.',
  'perception:submit': 'Submit plate-reader and visitor events.',
  'pms:manage': 'Manage property-management connectors.',
  'policies:approve': 'Vote on approval requests.',
  'policies:manage': 'Manage policies.',
  'skills:manage': 'Manage event skills.',
  'webhooks:manage': 'Manage webhooks.',
} as const;

type CrudResource = 'devices' | 'entities' | 'integrations' | 'orgs' | 'users' | 'zones';
type CrudVerb = 'create' | 'read' | 'update' | 'delete' | 'list';

function crudRoles<R extends CrudResource>(resource: R): Record<`${R}:${CrudVerb}`, string> {
  const verbs: CrudVerb[] = ['create', 'read', 'update', 'delete', 'list'];
  const entries = verbs.map((verb) => [`${resource}:${verb}`, `${capital(verb)} ${resource}.`]);
  return Object.fromEntries(entries) as Record<`${R}:${CrudVerb}`, string>;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

export type PlainRole = keyof typeof roleTable;
export type BuildingRole = `virtual_access:integration:${string}:${'manager' | 'resident'}`;
export type Role = PlainRole | BuildingRole;

export const plainRoles = Object.keys(roleTable) as PlainRole[];

const buildingRolePattern = /^virtual_access:integration:[0-7][0-9A-HJKMNP-TV-Z]{25}:(manager|resident)$/;

export function isBuildingRole(role: Role): role is BuildingRole {
  return buildingRolePattern.test(role);
}

export function isRole(text: string): text is Role {
  return Object.hasOwn(roleTable, text) || buildingRolePattern.test(text);
}
