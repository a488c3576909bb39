import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';

export type { Logger } from 'pino';

export interface LoggerOptions {
  readonly level: string;
  readonly destination?: DestinationStream;
}

/**
 * Secrets are redacted by type (see secret.ts). The paths below are the second net, for the places where a raw
 * credential can stand in a record that a library logs.
 */
const redactedPaths = [
  'authorization',
  'cookie',
  'token',
  'password',
  'secret',
  'pin',
  '*.authorization',
  '*.cookie',
  '*.token',
  '*.password',
  '*.secret',
  '*.pin',
  'req.headers',
  'request.headers',
];

export function createLogger({ level, destination }: LoggerOptions): Logger {
  const options = {
    level,
    base: null,
    redact: { paths: redactedPaths, censor: '[redacted]' },
    serializers: { err: stdSerializers.err },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination === undefined ? pino(options, pino.destination(2)) : pino(options, destination);
}
