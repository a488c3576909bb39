import { ApiCallError } from '@lintel/contract/client';
import { explainError } from '../api/explain-error.ts';
import { isConfigFilePrivate } from '../config-file.ts';
import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit.ts';
import { readToken, toApiBase } from '../settings.ts';
import { version } from '../version.ts';

export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly message: string;
  readonly exitCode?: ExitCode;
}

const dayMs = 86_400_000;
const skewWarningMs = 30_000;
const skewFailureMs = 300_000;
const expiryWarningDays = 14;

export async function runChecks(context: Context): Promise<Check[]> {
  const local = [checkConfigFile(context)];
  const service = await checkService(context);
  if (service.some(({ state }) => state === 'failed')) return [...local, ...service];
  return [...local, ...service, await checkReadiness(context), await checkToken(context)];
}

function checkConfigFile({ configPath }: Context): Check {
  const isPrivate = isConfigFilePrivate(configPath);
  if (isPrivate === null) return ok('settings', `no file at ${configPath}`);
  return isPrivate
    ? ok('settings', configPath)
    : warning('settings', `${configPath} can be read by others: chmod 600 ${configPath}`);
}

/** One request tells whether it is there, which version it is and what time it has. */
async function checkService({ world, settings }: Context): Promise<Check[]> {
  const { apiBase } = settings;
  let response: Response;
  try {
    response = await world.fetch(`${apiBase}/status`, { signal: world.signal });
  } catch (error) {
    const reason = explainError(error, world.signal)?.message ?? String(error);
    return [failed('service', `${apiBase}: ${reason}`, exitCodes.unreachable)];
  }
  const body: unknown = await response.json().catch(() => null);
  const theirs = versionIn(body);
  if (!response.ok || theirs === null)
    return [
      failed(
        'service',
        `${apiBase} answers, but is no Lintel (HTTP ${response.status})`,
        exitCodes.unreachable,
      ),
    ];
  return [
    ok('service', apiBase),
    sameRelease(theirs, version)
      ? ok('version', `service ${theirs}, command ${version}`)
      : warning('version', `the service is ${theirs}, this command ${version}`),
    checkClock(response.headers.get('date'), world.clock.now()),
  ];
}

function versionIn(body: unknown): string | null {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'version') : null;
  return typeof value === 'string' ? value : null;
}

const sameRelease = (one: string, other: string): boolean =>
  one.split('.').slice(0, 2).join('.') === other.split('.').slice(0, 2).join('.');

export function checkClock(header: string | null, now: number): Check {
  const theirs = Date.parse(header ?? '');
  if (Number.isNaN(theirs)) return warning('clock', 'the service does not say what time it has');
  const skew = Math.abs(theirs - now);
  const text = `${Math.round(skew / 1000)} s apart from the service`;
  if (skew >= skewFailureMs) return failed('clock', text);
  return skew >= skewWarningMs ? warning('clock', text) : ok('clock', text);
}

/** Of the process behind the address; a proxy may keep it to itself. */
async function checkReadiness({ world, settings }: Context): Promise<Check> {
  const origin = settings.apiBase.replace(/\/api\/v1$/, '');
  const response = await world.fetch(`${origin}/readyz`, { signal: world.signal }).catch(() => null);
  if (response?.status === 200) return ok('health', 'ready');
  if (response?.status === 503) return failed('health', 'the service says that it is not ready');
  return warning('health', 'not known: /readyz is not reachable here');
}

async function checkToken(context: Context): Promise<Check> {
  const { settings, client, world } = context;
  if (settings.token === null)
    return failed('key', 'none: run lintel login, or set LINTEL_TOKEN', exitCodes.unauthorized);
  try {
    const { email, api_key_expires_at: end } = await client('get_me_profile', {});
    const days = end === null ? null : Math.floor((Date.parse(end) - world.clock.now()) / dayMs);
    if (days !== null && days < expiryWarningDays) return warning('key', `of ${email}, ends in ${days} days`);
    return ok('key', days === null ? `of ${email}` : `of ${email}, ends in ${days} days`);
  } catch (error) {
    if (!(error instanceof ApiCallError)) throw error;
    return failed('key', refusal(error, settings.token, settings.apiBase), exitCodes.unauthorized);
  }
}

function refusal(error: ApiCallError, token: string, apiBase: string): string {
  const base = readToken(token)?.base;
  const isForOther = base !== undefined && toApiBase(base) !== apiBase;
  return isForOther ? `it was made for ${base}, not for ${apiBase}` : error.message;
}

const ok = (name: string, message: string): Check => ({ name, state: 'ok', message });
const warning = (name: string, message: string): Check => ({ name, state: 'warning', message });
const failed = (name: string, message: string, exitCode: ExitCode = exitCodes.failure): Check => ({
  name,
  state: 'failed',
  message,
  exitCode,
});
