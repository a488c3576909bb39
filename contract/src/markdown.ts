import { errorTable } from './errors.ts';
import { actorKinds, auditOutcomes, auditSources, eventTable } from './events.ts';
import type { OperationSpec } from './operation.ts';
import { roleTable } from './roles.ts';
import { tagTable } from './tags.ts';

type Operations = readonly OperationSpec[];

const written = '<!-- Written by `npm run generate` from contract/src. Do not edit. -->';

export function errorsMarkdown(operations: Operations): string {
  const rows = Object.entries(errorTable)
    .map(([code, { status, meaning }]) => ({ code, status, meaning }))
    .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1));
  return page('Errors', [
    'Every error has the same body: `{message, code, error_code, correlationId}`, `details` with `validation_error` and ' +
      '`preview_token` with `confirmation_required`. The code decides the status. The last column names the operations ' +
      'that have a code of their own; the other codes follow from the kind of a request.',
    table(
      ['Status', 'Code', 'Meaning', 'Operations'],
      rows.map(({ code, status, meaning }) => [
        String(status),
        `\`${code}\``,
        meaning,
        ownTo(operations.filter(({ errors }) => errors.some((error) => error === code))),
      ]),
    ),
  ]);
}

function ownTo(operations: Operations): string {
  if (operations.length === 0) return '';
  return operations.length > 4 ? `${operations.length} operations` : identifiers(operations);
}

export function rolesMarkdown(operations: Operations): string {
  return page('Roles', [
    '`admin` on an organization counts in all its descendants; every other role holds where it is granted. `admin` on the ' +
      'root organization is platform administration, and `admin` includes every other role.',
    table(
      ['Role', 'What it allows', 'Operations'],
      Object.entries(roleTable).map(([role, meaning]) => [
        `\`${role}\``,
        meaning,
        identifiers(operations.filter((operation) => operation.role === role)),
      ]),
    ),
    'Building roles carry the integration they hold for: `virtual_access:integration:<integration id>:manager` and ' +
      '`virtual_access:integration:<integration id>:resident`. Both open what belongs to that integration, portals through ' +
      `what stands behind them included, and nothing beside it: ${identifiers(
        operations.filter(({ buildingRoles }) => buildingRoles),
      )}.`,
    '## Which role an operation needs',
    table(
      ['Operation', 'Needs', 'Credential', 'Agents', 'Organization'],
      operations.map((operation) => [
        `\`${operation.id}\``,
        requirement(operation),
        credentialTexts[operation.auth],
        operation.agents ? 'yes' : 'no',
        organizationOf(operation),
      ]),
    ),
  ]);
}

const credentialTexts: Readonly<Record<OperationSpec['auth'], string>> = {
  public: 'none',
  principal: 'key or session',
  session: 'session only',
  session_probe: 'session, if any',
};

function requirement({ role, buildingRoles }: OperationSpec): string {
  if (role === 'member') return 'any role in the organization';
  if (typeof role !== 'string') return role.rule;
  return `\`${role}\`${buildingRoles ? ', or a building role' : ''}`;
}

function organizationOf(operation: OperationSpec): string {
  switch (operation.org) {
    case 'none':
      return 'none';
    case 'header':
      return '`X-Org`';
    case 'principal':
      return 'the caller’s own, or `X-Org`';
    case 'path':
      return `\`{${operation.orgParam ?? ''}}\` of the path`;
  }
}

export function eventsMarkdown(operations: Operations): string {
  return page('Audit events', [
    'A change writes its event in its own transaction, with the correlation id of the answer.',
    table(
      ['Event type', 'Meaning', 'Written by'],
      Object.entries(eventTable).map(([type, meaning]) => [
        `\`${type}\``,
        meaning,
        identifiers(operations.filter((operation) => operation.audit === type)) || 'the service itself',
      ]),
    ),
    `- Outcomes: ${codes(auditOutcomes)}\n- Sources: ${codes(auditSources)}\n- Actor kinds: ${codes(actorKinds)}`,
  ]);
}

export function operationsMarkdown(operations: Operations): string {
  const byTag = Object.entries(Object.groupBy(operations, ({ tag }) => tag));
  return page('Operations', [
    'Paths are relative to `/api/v1`. The details stand in `openapi.json` and, on a running service, at `/docs`.',
    ...byTag.flatMap(([tag, group = []]) => [`## ${tag}`, tagTable[tag] ?? '', operationTable(group)]),
  ]);
}

function operationTable(operations: Operations): string {
  return table(
    ['Method', 'Path', 'Operation', 'What it does', 'Needs', 'Audit event'],
    operations.map((operation) => [
      operation.method,
      `\`${operation.path}\``,
      `\`${operation.id}\``,
      operation.summary,
      requirement(operation),
      operation.audit === null ? '' : `\`${operation.audit}\``,
    ]),
  );
}

function identifiers(operations: Operations): string {
  return codes(operations.map(({ id }) => id));
}

function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function page(title: string, blocks: readonly string[]): string {
  return `${[written, `# ${title}`, ...blocks].join('\n\n')}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
