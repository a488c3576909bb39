// The one way out for addresses that callers give us: webhooks, pictures, skills. Devices are reached by their providers.
import { lookup as systemLookup } from 'node:dns/promises';
import type { EgressAllow } from './egress-allow.ts';
import { exchange } from './egress-exchange.ts';
import { checkTarget, EgressRefused, type TargetRules } from './egress-target.ts';

export interface EgressRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Of the answer; 1 MiB unless told otherwise. */
  readonly maxBytes?: number;
  /** Media types that are taken; any without it. */
  readonly accept?: readonly string[];
  /** From the look-up of the name to the last byte; 10 s unless told otherwise. */
  readonly timeoutMs?: number;
}

export type EgressOutcome =
  /** Any status. A redirect is one as well: it is never followed. */
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  /** By our rules, before a connection was made. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** On the way: the other side may have got the request. */
  | { readonly kind: 'failed'; readonly reason: string };

export interface Egress {
  fetchBounded(url: string, request?: EgressRequest): Promise<EgressOutcome>;
  /** Why an address would be refused, before anything is kept under it; null when it would not. */
  problemOf(url: string): Promise<string | null>;
}

export interface EgressOptions {
  readonly allow?: EgressAllow;
  readonly ports?: readonly number[];
  readonly resolve?: TargetRules['resolve'];
  readonly connectTimeoutMs?: number;
  /** Certificates to trust beside those of the system. */
  readonly ca?: string;
}

export const egressDefaults = {
  ports: [443, 8443],
  maxBytes: 1_048_576,
  timeoutMs: 10_000,
  connectTimeoutMs: 5000,
} as const;

export function createEgress(options: EgressOptions = {}): Egress {
  const rules: TargetRules = {
    allow: options.allow ?? nothing,
    ports: options.ports ?? egressDefaults.ports,
    resolve: options.resolve ?? resolveBySystem,
  };
  const connectTimeoutMs = options.connectTimeoutMs ?? egressDefaults.connectTimeoutMs;
  return {
    fetchBounded: (url, request = {}) => fetchBounded(rules, { ...options, connectTimeoutMs }, url, request),
    problemOf: async (url) => {
      const outcome = await withinTime(egressDefaults.timeoutMs, () => checkTarget(rules, url));
      return outcome instanceof EgressRefused ? outcome.message : null;
    },
  };
}

const nothing: EgressAllow = { hasHost: () => false, hasAddress: () => false };

async function fetchBounded(
  rules: TargetRules,
  connection: { readonly connectTimeoutMs: number; readonly ca?: string },
  url: string,
  request: EgressRequest,
): Promise<EgressOutcome> {
  const timeoutMs = request.timeoutMs ?? egressDefaults.timeoutMs;
  const signal = AbortSignal.timeout(timeoutMs);
  const target = await withinTime(timeoutMs, () => checkTarget(rules, url));
  if (target instanceof EgressRefused) return { kind: 'refused', reason: target.message };
  return exchange(target, { maxBytes: egressDefaults.maxBytes, ...connection, ...request, signal });
}

/** A look-up can not be stopped, so that only the waiting for it ends. */
async function withinTime<T>(timeoutMs: number, work: () => Promise<T>): Promise<T | EgressRefused> {
  const { promise: late, resolve } = Promise.withResolvers<EgressRefused>();
  const timer = setTimeout(() => resolve(new EgressRefused('the host was not found in time')), timeoutMs);
  try {
    return await Promise.race([work(), late]);
  } catch (error) {
    if (error instanceof EgressRefused) return error;
    return new EgressRefused('the host was not found');
  } finally {
    clearTimeout(timer);
  }
}

async function resolveBySystem(host: string): Promise<string[]> {
  const found = await systemLookup(host, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}
