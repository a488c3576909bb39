/** The closed table of audit event types: dotted, past tense where they report a change. */
export const eventTable = {
  'access.denied': 'A request was refused for want of a role or organization.',
  'agent.created': 'An agent was created.',
  'agent.credential_created': 'An agent was given a credential.',
  'agent.revoked': 'An agent was revoked with all its credentials.',
  'agent.updated': 'An agent was changed.',
  'api_key.created': 'An API key was created.',
  'api_key.purged': 'A revoked API key was removed for good.',
  'api_key.rejected': 'A revoked or expired API key was presented.',
  'api_key.restored': 'A revoked API key was re-enabled.',
  'api_key.revoked': 'An API key was revoked.',
  'api_key.updated': 'An API key was renamed or its expiry changed.',
  'device.created': 'A device was created.',
  'device.deleted': 'A device was soft-deleted.',
  'device.purged': 'A device was removed for good.',
  'device.restored': 'A deleted device was restored.',
  'device.updated': 'A device was changed.',
  'entity.action': 'An entity action was executed, failed, or was denied.',
  'entity.created': 'An entity was created.',
  'entity.deleted': 'An entity was soft-deleted.',
  'entity.purged': 'An entity was removed for good.',
  'entity.restored': 'A deleted entity was restored.',
  'entity.updated': 'An entity was changed.',
  'identity.logged_out': 'A browser session ended.',
  'identity.login_failed': 'A sign-in failed.',
  'identity.login_succeeded': 'A person signed in.',
  'identity.password_changed': 'A person set a new password.',
  'image.deleted': 'The image of a record was deleted.',
  'image.uploaded': 'A record was given an image.',
  'integration.created': 'An integration was created.',
  'integration.deleted': 'An integration was soft-deleted.',
  'integration.purged': 'An integration was removed for good, with its secrets.',
  'integration.restored': 'A deleted integration was restored.',
  'integration.secrets_read': 'The secrets of an integration were read.',
  'integration.updated': 'An integration or its secrets were changed.',
  'invitation.cancelled': 'An organization invitation was cancelled.',
  'invitation.created': 'A person was invited to the organization.',
  'invitation.purged': 'An organization invitation was removed for good.',
  'invitation.redeemed': 'A person joined by an invitation.',
  'invitation.resent': 'An organization invitation got a new token and PIN.',
  'org.created': 'An organization was created.',
  'org.deleted': 'An organization was soft-deleted.',
  'org.purged': 'An organization was removed for good.',
  'org.restored': 'A deleted organization was restored.',
  'org.updated': 'An organization was changed or moved.',
  'user.created': 'A user was created.',
  'user.deleted': 'A user was soft-deleted.',
  'user.provisioned': 'A signed-in identity became a user.',
  'user.purged': 'A user was removed for good.',
  'user.restored': 'A deleted user was restored.',
  'user.roles_added': 'Roles were granted to a user.',
  'user.roles_removed': 'Roles were taken from a user.',
  'user.updated': 'A user was changed.',
  'zone.created': 'A zone was created.',
  'zone.deleted': 'A zone was soft-deleted.',
  'zone.purged': 'A zone was removed for good.',
  'zone.restored': 'A deleted zone was restored.',
  'zone.updated': 'A zone was changed or moved.',
} as const;

export type EventType = keyof typeof eventTable;

export const auditOutcomes = ['succeeded', 'failed', 'denied', 'unknown'] as const;
export type AuditOutcome = (typeof auditOutcomes)[number];

export const auditSources = [
  'api',
  'dashboard',
  'public_access',
  'smarthome',
  'scripting',
  'system',
] as const;
export type AuditSource = (typeof auditSources)[number];

export const actorKinds = ['user', 'api_key', 'agent', 'guest', 'system'] as const;
export type ActorKind = (typeof actorKinds)[number];
