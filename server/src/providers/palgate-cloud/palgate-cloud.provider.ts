import { mapDone, tested, testedFailure } from '../ops.ts';
import type {
  Command,
  Connection,
  Delivery,
  Health,
  Link,
  OpLimits,
  OpResult,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { type HttpOutcome, httpOnce } from '../transport/http-once.ts';
import { type PollingTimes, startPolling } from '../transport/polling.ts';
import { type PalgateCloudConfig, palgateCloudManifest, VENDOR_URL } from './palgate-cloud.manifest.ts';
import {
  checkPath,
  deriveToken,
  devicesPath,
  discoveredGates,
  isTokenValid,
  openPath,
  parseGate,
  readGates,
  readOpenReply,
} from './palgate-cloud.wire.ts';

// Asking often brings 429, so the account is only looked at now and then.
const CHECKS: PollingTimes = { everyMs: 900_000, retryMs: 15_000, maxRetryMs: 300_000 };
const CHECK_TIMEOUT_MS = 10_000;

export const palgateCloud = createPalgateCloud(CHECKS);

export function createPalgateCloud(checks: PollingTimes): ProviderDefinition {
  return { manifest: palgateCloudManifest, connect: (link, context) => connect(link, context, checks) };
}

function connect(link: Link, context: ProviderContext, checks: PollingTimes): Connection {
  const account = createAccount(link, context);
  let health: Health = 'reduced';
  const polling = startPolling(context.clock, checks, async (signal) => {
    const { clock } = context;
    const path = checkPath(Math.floor(clock.millis() / 1000));
    const outcome = await account.get(path, clock.monotonicMs() + CHECK_TIMEOUT_MS, signal);
    health = isTokenValid(outcome) ? 'ok' : healthAfter(outcome);
    return health === 'ok';
  });
  const gates = async ({ deadlineMs, signal }: OpLimits) =>
    readGates(await account.get(devicesPath, deadlineMs, signal));
  return {
    ops: {
      'connection.test': (_input, limits) => test(account, context, limits),
      'devices.list': (_input, limits) => gates(limits),
    },
    discover: async (limits) => mapDone(await gates(limits), discoveredGates),
    actions: {
      async open(command) {
        const { delivery, outcome } = await open(account, command);
        if (outcome !== null) health = delivery.kind === 'delivered' ? 'ok' : healthAfter(outcome);
        return delivery;
      },
    },
    health: () => health,
    bind: () => {},
    close: () => polling.close(),
  };
}

async function test(account: Account, { clock }: ProviderContext, limits: OpLimits): Promise<OpResult> {
  const path = checkPath(Math.floor(clock.millis() / 1000));
  const outcome = await account.get(path, limits.deadlineMs, limits.signal);
  if (outcome.kind !== 'response') return testedFailure(outcome);
  if (isTokenValid(outcome)) return tested('ok', 'the cloud accepts the session token');
  return tested(healthAfter(outcome), `the cloud does not accept the session token (${outcome.status})`);
}

type Account = ReturnType<typeof createAccount>;

function createAccount({ config, secrets }: Link, { clock }: ProviderContext) {
  const { phone, token_type: type, base_url = VENDOR_URL } = config as PalgateCloudConfig;
  const base = base_url.replace(/\/*$/, '/');
  return {
    get(path: string, deadlineMs: number, signal: AbortSignal): Promise<HttpOutcome> {
      const unixSeconds = Math.floor(clock.millis() / 1000);
      const sessionTokenHex = secrets.session_token_hex?.reveal() ?? '';
      if (!/^[0-9A-Fa-f]{32}$/.test(sessionTokenHex))
        return Promise.resolve({ kind: 'not_sent', reason: 'there is no session token' });
      const token = deriveToken({ sessionTokenHex, phone, type, unixSeconds });
      // The vendor's own app says the same about itself; other agents are not known to work.
      const headers = { 'x-bt-token': token, 'user-agent': 'okhttp/4.9.3' };
      return httpOnce({ method: 'GET', url: `${base}${path}`, headers, deadlineMs, clock, signal });
    },
  };
}

async function open(
  account: Account,
  { entity, deadlineMs, signal }: Command,
): Promise<{ delivery: Delivery; outcome: HttpOutcome | null }> {
  const gate = parseGate(entity.deviceExternalId);
  if (gate === null)
    return { delivery: { kind: 'not_sent', reason: 'the device has no gate id' }, outcome: null };
  const outcome = await account.get(openPath(gate), deadlineMs, signal);
  return { delivery: readOpenReply(outcome), outcome };
}

/** A gate that may not be opened says nothing bad about the account; a token that is not accepted does. */
function healthAfter(outcome: HttpOutcome): Health {
  if (outcome.kind !== 'response') return 'error';
  return outcome.status === 401 || outcome.status === 403 || outcome.status >= 500 ? 'error' : 'reduced';
}
