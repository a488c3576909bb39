import type { ProviderManifest } from './provider.ts';

interface Member {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Member[];
  readonly default?: unknown;
  readonly description?: string;
}

interface Members {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Member>>;
  readonly required?: readonly string[];
}

/** docs/generated/providers.md: what every kind of device is and takes, as its manifest says. */
export function providersPage(manifests: readonly ProviderManifest[]): string {
  const sorted = manifests.toSorted((a, b) => (a.type < b.type ? -1 : 1));
  const intro =
    'An integration is one of these. `GET /integrations/provider-types/{type}/definition` gives the same as JSON schemas. An action ' +
    'that is not named answers 501. Secrets are kept apart and never shown in ordinary reads.';
  const head = [
    '<!-- Written by `npm run generate` from the manifests. Do not edit. -->',
    '# Providers',
    intro,
  ];
  return `${[...head, ...sorted.map(section)].join('\n\n')}\n`;
}

function section(manifest: ProviderManifest): string {
  const { type, label, config, secrets, deviceMetadata, entityMetadata } = manifest;
  const parts = [
    `## \`${type}\`: ${label.en ?? type}`,
    (config as Members).description ?? '',
    facts(manifest),
    members('Configuration', config),
    members('Secrets', secrets),
    members('Device metadata', deviceMetadata),
    members('Entity metadata', entityMetadata),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function facts(manifest: ProviderManifest): string {
  const { actions, ops = [], discovery, deviceExternalId, entityExternalId, defaultMinIntervalMs } = manifest;
  const lines = [
    `Actions: ${actions.length === 0 ? 'none' : actions.map((action) => `\`${action}\``).join(', ')}`,
    `Ops: ${['connection.test', ...ops.map(({ id }) => id).filter((id) => id !== 'connection.test')].map((id) => `\`${id}\``).join(', ')}`,
    `Discovery: ${discovery === undefined ? 'no' : 'yes'}`,
    `External id: of devices ${deviceExternalId}, of entities ${entityExternalId}`,
    `Hardware: ${manifest.hardware === undefined ? 'a device is known here only' : 'a device is known world-wide; its policies hold for all devices that are the same one'}`,
    `Least time between opens: ${defaultMinIntervalMs} ms unless configured`,
  ];
  return lines.map((line) => `- ${line}`).join('\n');
}

function members(title: string, schema: object): string {
  const { properties = {}, required = [] } = schema as Members;
  const rows = Object.entries(properties).map(([name, member]) => [
    `\`${name}\`${required.includes(name) ? ' (required)' : ''}`,
    typeText(member),
    member.default === undefined ? '' : `\`${JSON.stringify(member.default)}\``,
    member.description ?? '',
  ]);
  if (rows.length === 0) return '';
  const lines = [['member', 'type', 'default', 'meaning'], ['---', '---', '---', '---'], ...rows];
  return `**${title}**\n\n${lines.map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')}`;
}

function typeText({ type, enum: values, anyOf, const: only }: Member): string {
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (only !== undefined) return `\`${String(only)}\``;
  if (anyOf !== undefined) return anyOf.map(typeText).join(' or ');
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
