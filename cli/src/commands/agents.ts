import type { Agent } from '@lintel/contract/agents';
import type { Command } from 'commander';
import { allPages } from '../api/all-pages.ts';
import { type Context, requireToken, type Start } from '../context.ts';
import { printTable } from '../terminal/table.ts';
import { findOne } from './find-one.ts';
import { collect, day } from './option-values.ts';

interface CreateOptions {
  readonly purpose?: string;
  readonly entity?: string[];
  readonly confirmation?: 'policy' | 'always' | 'human';
  readonly expiresIn?: string;
}

export function addAgentsCommand(program: Command, start: Start): void {
  const agents = program
    .command('agents')
    .description('agents: programs that open doors under their own name');
  agents
    .command('list', { isDefault: true })
    .description('list agents, revoked ones too')
    .action((_options: object, command: Command) => listAgents(start(command)));
  addCreate(agents, start);
  agents
    .command('credential')
    .argument('<agent>', 'id or name')
    .option('--expires-in <duration>', 'for example 30d')
    .description('give an agent a credential and print its token, once')
    .action((agent: string, { expiresIn }: { expiresIn?: string }, command: Command) =>
      createCredential(start(command), agent, expiresIn),
    );
  agents
    .command('revoke')
    .argument('<agent>', 'id or name')
    .description('revoke an agent: all its credentials stop at once')
    .action((agent: string, _options: object, command: Command) => revokeAgent(start(command), agent));
}

function addCreate(agents: Command, start: Start): void {
  const create = agents
    .command('create')
    .argument('<name>')
    .option('--purpose <text>', 'what it is for')
    .option('--entity <id>', 'limit it to an entity; may be repeated', collect)
    .option('--expires-in <duration>', 'for example 30d')
    .description('create an agent')
    .action((name: string, options: CreateOptions, command: Command) =>
      createAgent(start(command), name, options),
    );
  create.addOption(
    create
      .createOption('--confirmation <mode>', 'when it must be confirmed')
      .choices(['policy', 'always', 'human']),
  );
}

const readAgents = ({ client }: Context): Promise<Agent[]> =>
  allPages((query) => client('list_agents', { query }));

async function listAgents(context: Context): Promise<void> {
  requireToken(context);
  const items = await readAgents(context);
  if (context.isJson) return context.terminal.printJson({ items, total: items.length });
  printTable(
    context.terminal,
    ['ID', 'STATE', 'CONFIRMATION', 'LAST USED', 'NAME'],
    items.map((agent) => [
      agent.id,
      agent.revoked_at === null ? 'active' : 'revoked',
      agent.confirmation_mode,
      day(agent.last_used_at),
      agent.name,
    ]),
  );
}

async function createAgent(context: Context, name: string, options: CreateOptions): Promise<void> {
  requireToken(context);
  const agent = await context.client('create_agent', {
    body: {
      name,
      purpose: options.purpose ?? null,
      allowed_entity_ids: options.entity ?? null,
      ...(options.confirmation === undefined ? {} : { confirmation_mode: options.confirmation }),
      ...(options.expiresIn === undefined ? {} : { expires_in: options.expiresIn }),
    },
  });
  if (context.isJson) return context.terminal.printJson(agent);
  context.terminal.print(agent.id);
  context.terminal.note(`It needs a credential: lintel agents credential ${agent.id}`);
}

async function createCredential(context: Context, wanted: string, expiresIn?: string): Promise<void> {
  requireToken(context);
  const { id } = await findAgent(context, wanted);
  const body = expiresIn === undefined ? {} : { expires_in: expiresIn };
  const created = await context.client('create_agent_credential', { params: { id }, body });
  if (context.isJson) return context.terminal.printJson(created);
  context.terminal.note(`Until ${day(created.expires_at)}. The token is shown this once:`);
  context.terminal.print(created.token);
}

async function revokeAgent(context: Context, wanted: string): Promise<void> {
  requireToken(context);
  const { id, name } = await findAgent(context, wanted);
  await context.client('revoke_agent', { params: { id } });
  if (context.isJson) return context.terminal.printJson({ id, name, revoked: true });
  context.terminal.print(`Revoked ${id}.`);
}

async function findAgent(context: Context, wanted: string): Promise<Agent> {
  const agents = await readAgents(context);
  return findOne(
    'agent',
    wanted,
    agents.filter(({ id, revoked_at }) => id === wanted || revoked_at === null),
  );
}
