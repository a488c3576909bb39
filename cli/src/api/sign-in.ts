import { apiBasePath } from '@lintel/contract/operations';
import { CliError, exitCodes } from '../exit.ts';
import type { World } from '../world.ts';

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** What the API takes in the place of a key, and `logout` can end. */
export const isSessionToken = (token: string): boolean => token.startsWith('ory_st_');

/** A session of the identity provider that is built into the service, by its flow for programs (as Ory Kratos has it). */
export async function signIn(
  world: World,
  apiBase: string,
  { email, password }: Credentials,
): Promise<string> {
  const login = `${apiBase.slice(0, -apiBasePath.length)}/identity/self-service/login`;
  const begun = await ask(world, `${login}/api`, {});
  const flow = textAt(begun.body, 'id');
  if (flow === null)
    throw new CliError(exitCodes.failure, `The service at ${apiBase} takes no passwords itself`, {
      hint: 'Make an API key on its pages and run lintel login without --email.',
    });
  const submitted = await ask(world, `${login}?flow=${encodeURIComponent(flow)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ method: 'password', identifier: email, password }),
  });
  const token = textAt(submitted.body, 'session_token');
  if (token === null) throw new CliError(exitCodes.unauthorized, reasonOf(submitted));
  return token;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function ask({ fetch, signal }: World, url: string, init: RequestInit): Promise<Answer> {
  const headers = { accept: 'application/json', ...init.headers };
  const response = await fetch(url, { ...init, headers, redirect: 'manual', signal });
  const body: unknown = await response.json().catch(() => null);
  return { status: response.status, body };
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

function textAt(value: unknown, name: string): string | null {
  const member = memberOf(value, name);
  return typeof member === 'string' && member !== '' ? member : null;
}

/** A refused form comes back with what is wrong with it. */
function reasonOf({ status, body }: Answer): string {
  const messages = memberOf(memberOf(body, 'ui'), 'messages');
  const texts = Array.isArray(messages) ? messages.flatMap((message) => textAt(message, 'text') ?? []) : [];
  return texts.join(' ') || `Signing in failed: the service answered ${status}`;
}
