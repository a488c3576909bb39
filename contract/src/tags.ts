/** The sections of the reference. An operation's tag is one of these; the document refuses any other. */
export const tagTable: Readonly<Record<string, string>> = {
  Status: 'Which service answers, without a credential.',
  Session: 'Read or end the browser session of the identity provider. A call without a session is no error.',
  Me: 'The caller, about themselves.',
  'API keys': 'Personal access tokens for programs, optionally narrowed to roles and entities.',
  Agents:
    'Software agents as principals of their own: named, owned, limited, revocable and audited as agents.',
  Entities: 'Doors, gates, lights, switches and sensors: what there is, and opening it.',
  Devices: 'The hardware behind the entities.',
  Zones: 'Places in a building, one inside the other, that entities are in.',
  Integrations: 'The connections to device providers.',
  Organizations:
    'The tree of organizations. `admin` counts in all descendants, other roles where they are granted.',
  'Org invitations': 'Bring people into an organization with a link and a PIN.',
  Users: 'People and their roles.',
  Images:
    'One picture of each device, entity, integration, user and organization, served by signed addresses.',
  Policies: 'Rules that narrow what roles allow, for an organization, an integration or a device.',
  Approvals: 'What needs the consent of a different person, and their votes.',
  Holds:
    'Doors that stay open or closed for a time, and lockdown. The way out is never routed through software.',
  Quotas: 'How much an organization may have and use, and how much it does.',
  Scripting: 'Set up a building from a file: one script makes, changes and removes records.',
  Audit: 'Who did what, when, through which credential, and how it ended.',
};
