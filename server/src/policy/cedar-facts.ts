import { type AccessFacts, accessPrincipalId, buildingsOf, grantsHere, outputOf } from './access-facts.ts';
import {
  type CedarEntity,
  type CedarRecord,
  type CedarRequest,
  type EntityRef,
  entityRef,
  keyOf,
} from './cedar-values.ts';

const principalTypes = { user: 'User', api_key: 'ApiKey', agent: 'Agent', guest: 'Guest' } as const;

/** The facts of lintel.cedarschema. Nothing else is known to a policy. */
export function cedarRequest(facts: AccessFacts, context: CedarRecord): CedarRequest {
  const principal = entityRef(principalTypes[facts.principal.kind], accessPrincipalId(facts.principal));
  const action = entityRef('Action', facts.verb);
  const entities = [
    { uid: principal, attrs: principalAttributes(facts), ancestors: [] },
    { uid: action, attrs: {}, ancestors: [entityRef('Action', 'operate')] },
    { uid: entityRef('Action', 'operate'), attrs: {}, ancestors: [] },
    ...placeEntities(facts),
  ];
  return {
    principal,
    action,
    resource: entityRef('Entity', facts.target.entityId),
    context,
    entities: new Map(entities.map((entity) => [keyOf(entity.uid), entity])),
  };
}

function placeEntities({ target, org }: AccessFacts): CedarEntity[] {
  const orgs = org.path.map((id) => entityRef('Org', id));
  const integration = entityRef('Integration', target.integrationId);
  const device = entityRef('Device', target.deviceId);
  const output = outputOf(target);
  return [
    ...orgs.map((uid, depth) => ({ uid, attrs: {}, ancestors: orgs.slice(0, depth) })),
    { uid: integration, attrs: { provider_type: target.providerType }, ancestors: orgs },
    { uid: device, attrs: {}, ancestors: [integration, ...orgs] },
    {
      uid: entityRef('Entity', target.entityId),
      attrs: {
        org: entityRef('Org', org.id),
        integration,
        device,
        entity_type: target.entityType,
        ...(output === null ? {} : { output }),
      },
      ancestors: [device, integration, ...orgs],
    },
  ];
}

function principalAttributes(facts: AccessFacts): CedarRecord {
  const { principal } = facts;
  if (principal.kind === 'guest') return { invited_to: refs('Entity', principal.entityIds) };
  const rights = rightsOf(facts);
  if (principal.kind === 'user') return { rights };
  if (principal.kind === 'agent') {
    const allowed = refs('Entity', principal.allowedEntityIds);
    return { rights, owner_id: principal.userId, allowed_entities: allowed };
  }
  const scoped = principal.scopedEntityIds;
  return {
    rights,
    creator_id: principal.userId,
    ...(scoped === null ? {} : { scoped_entities: refs('Entity', scoped) }),
  };
}

function rightsOf(facts: AccessFacts): CedarRecord {
  const grants = grantsHere(facts);
  const orgsWith = (wanted: string) => grants.filter(({ role }) => role === wanted).map(({ orgId }) => orgId);
  return {
    admin_of: refs('Org', orgsWith('admin')),
    operates_in: refs('Org', orgsWith('entities:set_state')),
    manages: refs('Integration', buildingsOf(facts, 'manager')),
    resident_of: refs('Integration', buildingsOf(facts, 'resident')),
  };
}

function refs(type: string, ids: readonly string[]): readonly EntityRef[] {
  return ids.map((id) => entityRef(type, id));
}
