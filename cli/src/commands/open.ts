import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import type { ActionResult } from '@lintel/contract/actions';
import { ApiCallError } from '@lintel/contract/client';
import { ulidPattern } from '@lintel/contract/common';
import type { Entity } from '@lintel/contract/entities';
import type { Command } from 'commander';
import { allPages } from '../api/all-pages.ts';
import { explainError } from '../api/explain-error.ts';
import { type Context, requireToken, type Start } from '../context.ts';
import { CliError, exitCodes } from '../exit.ts';
import { visible } from '../terminal/visible-text.ts';
import { findOne } from './find-one.ts';

interface Options {
  readonly yes?: boolean;
  readonly idempotencyKey?: string;
}

export function addOpenCommand(program: Command, start: Start): void {
  program
    .command('open')
    .argument('<name>', 'name or id of a door, light or switch')
    .option('-y, --yes', 'confirm when the service asks for it')
    .option('--idempotency-key <key>', 'at most one command per key, to repeat a call safely')
    .description('open a door')
    .action((name: string, options: Options, command: Command) => open(start(command), name, options));
}

async function open(context: Context, wanted: string, options: Options): Promise<void> {
  requireToken(context);
  const { terminal } = context;
  const entity = await findEntity(context, wanted);
  const key = options.idempotencyKey ?? randomUUID();
  const name = visible(entity.name ?? entity.id);
  const result = await terminal.during(`opening ${name}`, send(context, entity, key, options));
  if (context.isJson) return terminal.printJson(result);
  terminal.print(`${terminal.style.green('✓')} ${name} is ${result.state}`);
  if (result.degradation !== undefined) terminal.note(result.degradation.message);
}

async function findEntity({ client }: Context, wanted: string): Promise<Entity> {
  if (new RegExp(ulidPattern).test(wanted)) return client('get_entity', { params: { id: wanted } });
  const q = wanted.normalize('NFC').trim();
  if (q === '') throw new CliError(exitCodes.usage, 'A door needs a name');
  return findOne(
    'entity',
    wanted,
    await allPages((page) => client('list_entities', { query: { ...page, q } })),
  );
}

async function send(context: Context, entity: Entity, key: string, options: Options): Promise<ActionResult> {
  try {
    return await execute(context, entity, key, {});
  } catch (error) {
    const proof = proofIn(error);
    if (proof === null || !(error instanceof ApiCallError)) throw withKey(context, error, key);
    await confirm(context, entity, error, options);
    const header = `x-${context.settings.brand}-confirm`;
    return await execute(context, entity, key, { [header]: proof }).catch((again: unknown) => {
      throw withKey(context, again, key);
    });
  }
}

const execute = (
  { client }: Context,
  { id }: Entity,
  key: string,
  headers: Record<string, string>,
): Promise<ActionResult> =>
  client('execute_entity_action', {
    params: { id, action_id: 'switchable.open' },
    headers: { 'idempotency-key': key, ...headers },
    body: {},
  });

function proofIn(error: unknown): string | null {
  if (!(error instanceof ApiCallError) || error.code !== 'confirmation_required') return null;
  return error.body.preview_token ?? null;
}

/** An open that is worth asking twice about happens on an explicit yes only. */
async function confirm(
  context: Context,
  entity: Entity,
  error: ApiCallError,
  { yes }: Options,
): Promise<void> {
  const { terminal } = context;
  terminal.note(
    `${visible(entity.name ?? entity.id)} (${entity.entity_type}, ${entity.id}): ${error.message}`,
  );
  if (yes === true) return;
  if (terminal.isInteractive && (await ask(context, 'Open it? [y/N] '))) return;
  throw new CliError(exitCodes.confirmation, 'Not opened: it was not confirmed', {
    hint: terminal.isInteractive ? undefined : 'Add --yes to confirm.',
    details: { code: error.code, status: error.status, correlation_id: error.correlationId },
  });
}

async function ask({ world }: Context, question: string): Promise<boolean> {
  const prompt = createInterface({ input: world.stdin, output: world.stderr });
  try {
    return /^y(es)?$/i.test((await prompt.question(question, { signal: world.signal })).trim());
  } finally {
    prompt.close();
  }
}

/** Without an answer nobody knows whether the door opened; the same key makes asking again harmless. */
function withKey({ world }: Context, error: unknown, key: string): unknown {
  const explained = explainError(error, world.signal);
  if (explained?.exitCode !== exitCodes.unreachable) return error;
  return new CliError(exitCodes.unreachable, `${explained.message}. Whether it opened is not known.`, {
    hint: `To ask again without opening twice: --idempotency-key ${key}`,
    details: { ...explained.details, idempotency_key: key },
    cause: error,
  });
}
