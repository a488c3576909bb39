import { resolve } from 'node:path';
import { egressAllow, objectStorage } from './config-outside.ts';
import type { EgressAllow } from './egress/egress-allow.ts';
import { normalizeEmail } from './kernel/email.ts';
import { Secret } from './kernel/secret.ts';
import type { S3Settings } from './media/s3-object-store.ts';

export interface Config {
  readonly environment: string;
  readonly host: string;
  readonly port: number;
  /** Origin under which people and clients reach the service. */
  readonly publicUrl: string;
  readonly dataDir: string;
  /** Null: the embedded PostgreSQL in the data directory. */
  readonly databaseUrl: string | null;
  readonly databaseConnections: number;
  readonly brand: string;
  /** Null: the built-in identity provider. */
  readonly identityUrl: string | null;
  /** Whether a signed-in stranger of an external identity provider gets a personal organization. */
  readonly selfSignup: boolean;
  /** Null: the key file in the data directory. */
  readonly pepper: Secret | null;
  /** Key encryption keys, the one in use first. Null: the key file in the data directory. */
  readonly kek: Secret | null;
  /** Null: images are kept in the data directory. */
  readonly s3: S3Settings | null;
  /** Targets inside the operator's own network that webhooks and the like may name. */
  readonly egressAllow: EgressAllow;
  /** What nodes sign with among themselves. Null: made from the pepper. */
  readonly clusterSecret: Secret | null;
  /** Where other nodes reach this one. Null: the address and port it listens on. */
  readonly nodeUrl: string | null;
  /** Null: nodes talk to each other by HTTP. */
  readonly natsUrl: string | null;
  /** How long a node that was asked to stop goes on serving. Null: as long as the others need to notice, not at all alone. */
  readonly drainGraceMs: number | null;
  readonly adminEmail: string;
  readonly demo: boolean;
  readonly logLevel: string;
  readonly trustProxy: boolean;
  /** How long deleted records are kept; null: until somebody purges them. */
  readonly retentionDays: number | null;
  readonly metricsPort: number | null;
  readonly metricsToken: Secret | null;
}

export class ConfigError extends Error {}

type Env = Readonly<Record<string, string | undefined>>;

/** The only reader of the environment. All faults are listed at once. */
export function readConfig(environment: Env = process.env): Config {
  const faults: string[] = [];
  const env = withoutEmpty(environment);
  const port = integer(env, 'PORT', 8080, faults);
  const config: Config = {
    environment: env.LINTEL_ENVIRONMENT ?? 'production',
    host: env.HOST ?? '0.0.0.0',
    port,
    publicUrl: origin(env, 'PUBLIC_URL', `http://localhost:${port}`, faults),
    dataDir: resolve(env.LINTEL_DATA_DIR ?? 'data'),
    databaseUrl: databaseAddress(env, faults),
    databaseConnections: integer(env, 'DATABASE_CONNECTIONS', 20, faults),
    brand: brand(env, faults),
    identityUrl: env.IDENTITY_URL === undefined ? null : address(env, 'IDENTITY_URL', faults),
    selfSignup: flag(env, 'LINTEL_SELF_SIGNUP', false, faults),
    pepper: env.LINTEL_PEPPER === undefined ? null : new Secret(env.LINTEL_PEPPER),
    kek: env.LINTEL_KEK === undefined ? null : new Secret(env.LINTEL_KEK),
    s3: objectStorage(env, faults),
    egressAllow: egressAllow(env, faults),
    ...clusterSettings(env, faults),
    adminEmail: adminEmail(env, faults),
    demo: flag(env, 'LINTEL_DEMO', true, faults),
    logLevel: logLevel(env, faults),
    trustProxy: flag(env, 'TRUST_PROXY', false, faults),
    retentionDays: integer(env, 'LINTEL_RETENTION_DAYS', 30, faults) || null,
    metricsPort: env.METRICS_PORT === undefined ? null : integer(env, 'METRICS_PORT', 0, faults),
    metricsToken: env.METRICS_TOKEN === undefined ? null : new Secret(env.METRICS_TOKEN),
  };
  if (faults.length > 0) throw new ConfigError(`the configuration is not valid:\n  ${faults.join('\n  ')}`);
  return config;
}

/** `DATABASE_URL= npm start` means no database of one's own, and an empty pepper would be none. */
function withoutEmpty(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

function databaseAddress(env: Env, faults: string[]): string | null {
  const text = env.DATABASE_URL;
  if (text === undefined) return null;
  if (!URL.canParse(text) || !/^postgres(ql)?:/.test(text))
    faults.push('DATABASE_URL must look like postgresql://user:password@host:5432/database');
  return text;
}

function clusterSettings(
  env: Env,
  faults: string[],
): Pick<Config, 'clusterSecret' | 'nodeUrl' | 'natsUrl' | 'drainGraceMs'> {
  const natsUrl = env.NATS_URL ?? null;
  if (natsUrl !== null && !(URL.canParse(natsUrl) && /^(nats|tls):/.test(natsUrl)))
    faults.push('NATS_URL must look like nats://host:4222');
  return {
    clusterSecret: env.LINTEL_CLUSTER_SECRET === undefined ? null : new Secret(env.LINTEL_CLUSTER_SECRET),
    nodeUrl: env.LINTEL_NODE_URL === undefined ? null : origin(env, 'LINTEL_NODE_URL', '', faults),
    natsUrl,
    drainGraceMs:
      env.LINTEL_DRAIN_GRACE_MS === undefined ? null : integer(env, 'LINTEL_DRAIN_GRACE_MS', 0, faults),
  };
}

function adminEmail(env: Env, faults: string[]): string {
  const email = normalizeEmail(env.LINTEL_ADMIN_EMAIL ?? 'admin@lintel.local');
  if (email === null) faults.push('LINTEL_ADMIN_EMAIL must be an email address');
  return email ?? '';
}

function logLevel(env: Env, faults: string[]): string {
  const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
  const level = env.LOG_LEVEL ?? 'warn';
  if (!levels.includes(level)) faults.push(`LOG_LEVEL must be one of ${levels.join(', ')}`);
  return level;
}

function integer(env: Env, name: string, fallback: number, faults: string[]): number {
  const text = env[name];
  if (text === undefined) return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= 65_535) return value;
  faults.push(`${name} must be a whole number from 0 to 65535`);
  return fallback;
}

function flag(env: Env, name: string, fallback: boolean, faults: string[]): boolean {
  const text = env[name];
  if (text === undefined) return fallback;
  if (text === 'true' || text === '1') return true;
  if (text !== 'false' && text !== '0') faults.push(`${name} must be true or false`);
  return false;
}

function address(env: Env, name: string, faults: string[]): string {
  const text = env[name] ?? '';
  if (URL.canParse(text) && /^https?:/.test(text)) return text.replace(/\/+$/, '');
  faults.push(`${name} must be an http or https address`);
  return text;
}

function origin(env: Env, name: string, fallback: string, faults: string[]): string {
  if (env[name] === undefined) return fallback;
  const url = address(env, name, faults);
  if (URL.canParse(url) && new URL(url).origin !== url)
    faults.push(`${name} must be a bare origin without a path`);
  return url;
}

function brand(env: Env, faults: string[]): string {
  const text = env.LINTEL_BRAND ?? 'service';
  if (!/^[a-z][a-z0-9]{1,30}$/.test(text)) faults.push('LINTEL_BRAND must be lower-case letters and digits');
  return text;
}
