import type { ScriptKind } from '@lintel/contract/scripting';
import type { OrgScope } from '../../kernel/call.ts';
import { homeOf, type OrgDeps } from './script-orgs.ts';
import type { ScriptRecord } from './script-records.ts';
import { type Home, type Part, partsOf } from './scripting.store.ts';

export interface PlannedRecord {
  readonly kind: ScriptKind;
  readonly id: string;
  readonly orgId: string;
  /** Null once it is purged. */
  readonly record: ScriptRecord | null;
  /** Nothing is stored under it: the plan itself made it. */
  readonly isNew: boolean;
}

/** What a plan would have changed so far, over what there is. */
export interface Overlay {
  put(planned: Omit<PlannedRecord, 'isNew'> & { readonly isNew?: true }): void;
  get(kind: ScriptKind, id: string): PlannedRecord | undefined;
  all(kind: ScriptKind): readonly PlannedRecord[];
  locate(kind: Exclude<ScriptKind, 'user'>, id: string): Promise<Home | null>;
  scopeOf(orgId: string): Promise<OrgScope | null>;
  hasParts(kind: PartedKind, id: string, which: 'live' | 'all'): Promise<boolean>;
}

export type PartedKind = 'org' | 'integration' | 'zone' | 'device';

export const isDeleted = (record: ScriptRecord): boolean => record.deleted_at !== undefined;

export function createOverlay(deps: OrgDeps): Overlay {
  const entries = new Map<string, PlannedRecord>();
  const overlay: Overlay = {
    put: (planned) => {
      const key = `${planned.kind} ${planned.id}`;
      entries.set(key, { ...planned, isNew: planned.isNew ?? entries.get(key)?.isNew ?? false });
    },
    get: (kind, id) => entries.get(`${kind} ${id}`),
    all: (kind) => [...entries.values()].filter((planned) => planned.kind === kind),
    locate: async (kind, id) => {
      const planned = overlay.get(kind, id);
      return planned === undefined ? homeOf(deps, kind, id) : homeIn(planned);
    },
    scopeOf: (orgId) => scopeOf(deps, overlay, orgId),
    hasParts: (kind, id, which) => hasParts(deps, overlay, kind, id, which),
  };
  return overlay;
}

function homeIn({ orgId, record }: PlannedRecord): Home | null {
  if (record === null) return null;
  const text = (name: string) => (typeof record[name] === 'string' ? record[name] : null);
  return {
    orgId,
    isLive: !isDeleted(record),
    integrationId: text('integration_id'),
    parentZoneId: text('parent_zone_id'),
    deviceId: text('device_id'),
    providerType: text('provider_type'),
  };
}

/** Organizations that the plan made or moved are where it put them, and so is everything below. */
async function scopeOf(deps: OrgDeps, overlay: Overlay, orgId: string): Promise<OrgScope | null> {
  const planned = overlay.get('org', orgId);
  if (planned === undefined) return movedAlong(overlay, await deps.orgScope(orgId));
  const { record } = planned;
  if (record === null) return null;
  const parent = record.parent_id === null ? null : await overlay.scopeOf(String(record.parent_id));
  return {
    id: orgId,
    path: [...(parent?.path ?? []), orgId],
    epoch: 0,
    timezone: null,
    defaultLocale: parent?.defaultLocale ?? 'en',
    deletedAt: isDeleted(record) ? new Date(String(record.deleted_at)) : null,
  };
}

async function movedAlong(overlay: Overlay, scope: OrgScope | null): Promise<OrgScope | null> {
  const above = scope?.path.slice(0, -1).findLast((id) => overlay.get('org', id) !== undefined);
  if (scope === null || above === undefined) return scope;
  const moved = await overlay.scopeOf(above);
  const below = scope.path.slice(scope.path.indexOf(above) + 1);
  return moved === null ? null : { ...scope, path: [...moved.path, ...below] };
}

/** By which members a record hangs on another. */
const hooks: Readonly<Record<PartedKind, readonly (readonly [ScriptKind, string])[]>> = {
  org: [
    ['org', 'parent_id'],
    ['integration', 'org_id'],
  ],
  integration: [
    ['zone', 'integration_id'],
    ['device', 'integration_id'],
  ],
  zone: [
    ['zone', 'parent_zone_id'],
    ['entity', 'zone_id'],
  ],
  device: [['entity', 'device_id']],
};

async function hasParts(
  { db }: OrgDeps,
  overlay: Overlay,
  kind: PartedKind,
  id: string,
  which: 'live' | 'all',
): Promise<boolean> {
  // As the service: the parts of an organization are other organizations.
  const stored = await db.asService((tx) => partsOf(tx, kind, id));
  const untouched = stored.filter((part) => overlay.get(part.kind, part.id) === undefined);
  const planned = hooks[kind].flatMap(([partKind, member]) => plannedParts(overlay, partKind, member, id));
  return [...untouched, ...planned].some((part) => which === 'all' || part.isLive);
}

function plannedParts(overlay: Overlay, kind: ScriptKind, member: string, id: string): Part[] {
  return overlay
    .all(kind)
    .flatMap(({ record, id: partId }) =>
      record?.[member] === id ? [{ kind, id: partId, isLive: !isDeleted(record) }] : [],
    );
}
