import { randomBytes } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type { Secret } from '../../kernel/secret.ts';
import type { Link } from '../provider.ts';

/** The members by which every provider over MQTT names its broker. */
export const brokerConfig = {
  broker_host: Type.String({
    minLength: 1,
    maxLength: 253,
    description: 'Host name or address of the broker',
  }),
  broker_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, default: 1883 })),
  tls: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Speak TLS; the certificate of the broker is always verified',
    }),
  ),
  ca_certificate: Type.Optional(
    Type.String({
      maxLength: 65_536,
      description: 'PEM certificate of the authority that signed the broker, when it is a private one',
    }),
  ),
  protocol_version: Type.Optional(
    Type.Unsafe<4 | 5>({
      type: 'integer',
      enum: [4, 5],
      default: 5,
      description:
        '5, or 4 for MQTT 3.1.1. Only version 5 can tell a refused or undeliverable command and let it expire',
    }),
  ),
  client_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 65_535,
      description: 'Random when absent. Two clients with one id throw each other out',
    }),
  ),
};

/** Optional: a broker may let anybody in. */
export const brokerSecrets = {
  username: Type.Optional(Type.String({ minLength: 1, description: 'User name at the broker' })),
  password: Type.Optional(Type.String({ minLength: 1, description: 'Password at the broker' })),
};

const BrokerConfig = Type.Partial(Type.Object(brokerConfig));

export interface BrokerSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly caCertificate?: string;
  readonly protocolVersion: 4 | 5;
  readonly clientId: string;
  readonly username?: Secret;
  readonly password?: Secret;
}

export function brokerSettingsOf({ config, secrets }: Link): BrokerSettings {
  const broker = config as Static<typeof BrokerConfig>;
  return {
    host: broker.broker_host ?? '',
    port: broker.broker_port ?? 1883,
    tls: broker.tls ?? false,
    protocolVersion: broker.protocol_version ?? 5,
    // 23 characters is what every 3.1.1 broker must accept.
    clientId: broker.client_id ?? `lintel_${randomBytes(8).toString('hex')}`,
    ...(broker.ca_certificate === undefined ? {} : { caCertificate: broker.ca_certificate }),
    ...(secrets.username === undefined ? {} : { username: secrets.username }),
    ...(secrets.password === undefined ? {} : { password: secrets.password }),
  };
}
