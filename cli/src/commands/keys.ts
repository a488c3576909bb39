import type { ApiKeyListItem } from '@lintel/contract/api-keys';
import type { Command } from 'commander';
import { allPages } from '../api/all-pages.ts';
import { type Context, requireToken, type Start } from '../context.ts';
import { printTable } from '../terminal/table.ts';
import { findOne } from './find-one.ts';
import { collect, day } from './option-values.ts';

interface CreateOptions {
  readonly expiresIn: string;
  readonly role?: string[];
  readonly entity?: string[];
}

export function addKeysCommand(program: Command, start: Start): void {
  const keys = program.command('keys').description('API keys');
  keys
    .command('list', { isDefault: true })
    .description('list keys, revoked ones too')
    .action((_options: object, command: Command) => listKeys(start(command)));
  keys
    .command('create')
    .argument('<name>')
    .option('--expires-in <duration>', 'for example 90d or PT1H', '90d')
    .option('--role <role>', 'narrow it to a role; may be repeated', collect)
    .option('--entity <id>', 'narrow it to an entity; may be repeated', collect)
    .description('create a key and print its token, once')
    .action((name: string, options: CreateOptions, command: Command) =>
      createKey(start(command), name, options),
    );
  keys
    .command('revoke')
    .argument('<key>', 'id or name')
    .description('revoke a key: it stops working at once')
    .action((key: string, _options: object, command: Command) => revokeKey(start(command), key));
}

const readKeys = ({ client }: Context): Promise<ApiKeyListItem[]> =>
  allPages((query) => client('list_api_keys', { query }));

async function listKeys(context: Context): Promise<void> {
  requireToken(context);
  const items = await readKeys(context);
  if (context.isJson) return context.terminal.printJson({ items, total: items.length });
  printTable(
    context.terminal,
    ['ID', 'TOKEN', 'STATE', 'EXPIRES', 'LAST USED', 'NAME'],
    items.map((key) => [
      key.id,
      `…${key.token_suffix}`,
      key.revoked_at === null ? 'active' : 'revoked',
      day(key.expires_at),
      day(key.last_used_at),
      key.name,
    ]),
  );
}

async function createKey(context: Context, name: string, options: CreateOptions): Promise<void> {
  requireToken(context);
  const created = await context.client('create_api_key', {
    body: {
      name,
      expires_in: options.expiresIn,
      scoped_roles: options.role ?? null,
      scoped_entity_ids: options.entity ?? null,
    },
  });
  if (context.isJson) return context.terminal.printJson(created);
  context.terminal.note(`${created.id}, until ${day(created.expires_at)}. The token is shown this once:`);
  context.terminal.print(created.token);
}

async function revokeKey(context: Context, wanted: string): Promise<void> {
  requireToken(context);
  const { id, name } = findOne('key', wanted, await activeFirst(context, wanted));
  await context.client('revoke_api_key', { params: { id } });
  if (context.isJson) return context.terminal.printJson({ id, name, revoked: true });
  context.terminal.print(`Revoked ${id}.`);
}

/** A name may come back after its key was revoked; only an id can still mean the old one. */
async function activeFirst(context: Context, wanted: string): Promise<ApiKeyListItem[]> {
  const keys = await readKeys(context);
  return keys.filter(({ id, revoked_at }) => id === wanted || revoked_at === null);
}
