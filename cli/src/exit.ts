import type { Located } from './preprocess/preprocess.ts';

/** What the command ends with; the table in the README is the same. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  unauthorized: 3,
  notFound: 4,
  unreachable: 5,
  script: 6,
  confirmation: 7,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface Complaint {
  readonly message: string;
  readonly at?: Located | undefined;
}

export interface CliErrorOptions {
  /** What to do about it. */
  readonly hint?: string | undefined;
  /** For programs: further members of `error`. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** More than one thing to say, or things with a place in a file; otherwise the message is all. */
  readonly complaints?: readonly Complaint[];
  /** Everything has been said. */
  readonly isReported?: boolean;
  readonly cause?: unknown;
}

/** The one error that a command ends with. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly hint: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly complaints: readonly Complaint[];
  readonly isReported: boolean;

  constructor(exitCode: ExitCode, message: string, options: CliErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.exitCode = exitCode;
    this.hint = options.hint ?? null;
    this.details = options.details ?? {};
    this.complaints = options.complaints ?? [{ message }];
    this.isReported = options.isReported ?? false;
  }
}

export const usageError = (message: string, hint?: string): CliError =>
  new CliError(exitCodes.usage, message, { hint });
