import { ApiCallError } from '@lintel/contract/client';
import { ScriptError } from '@lintel/script/errors';
import { CommanderError } from 'commander';
import { CliError, type ExitCode, exitCodes } from '../exit.ts';
import { describeOrigin } from '../preprocess/preprocess.ts';
import { PreprocessError } from '../preprocess/preprocess-error.ts';
import { withoutPlaces } from '../preprocess/script-failure.ts';

const hints: Readonly<Record<string, string>> = {
  unauthorized: 'Run lintel login with a valid API key; lintel doctor says more.',
  org_required: 'Name the organization with --org.',
  device_unreachable: 'Nothing was sent, so it is safe to try again.',
  outcome_unknown: 'The command may have reached the device: look before you try again.',
  approval_required: 'Somebody else must approve it first.',
};

const exitCodesByCode: Readonly<Record<string, ExitCode>> = {
  confirmation_required: exitCodes.confirmation,
  confirmation_invalid: exitCodes.confirmation,
  approval_required: exitCodes.confirmation,
  script_error: exitCodes.script,
};

const exitCodesByStatus: Readonly<Record<number, ExitCode>> = {
  401: exitCodes.unauthorized,
  403: exitCodes.unauthorized,
  404: exitCodes.notFound,
};

/** Whatever went wrong, as the command ends with it; null for a fault of the command itself. */
export function explainError(error: unknown, signal: AbortSignal): CliError | null {
  if (error instanceof CliError) return error;
  if (signal.aborted) return new CliError(exitCodes.interrupted, 'Interrupted');
  if (error instanceof ApiCallError) return explainAnswer(error);
  if (error instanceof PreprocessError) return explainPreprocessing(error);
  // A value too large to be shown; mistakes in a script have become errors of the command, with their place.
  if (error instanceof ScriptError)
    return new CliError(exitCodes.script, withoutPlaces(error.message), {
      details: { code: 'script_error' },
    });
  // Commander has printed its own message.
  if (error instanceof CommanderError)
    return new CliError(error.exitCode === 0 ? exitCodes.ok : exitCodes.usage, plainUsage(error), {
      complaints: [],
      details: { code: 'usage' },
    });
  return isConnectionError(error) ? explainConnection(error) : null;
}

const plainUsage = ({ message }: CommanderError): string => message.replace(/^error: /, '');

function explainAnswer(error: ApiCallError): CliError {
  const { status, code, correlationId, body, retryAfterSeconds } = error;
  const exitCode = exitCodesByCode[code] ?? exitCodesByStatus[status] ?? exitCodes.failure;
  const problems = (body.details ?? []).map(({ path, message }) => `${path} ${message}`.trim());
  const wait = retryAfterSeconds === null ? undefined : `Try again in ${retryAfterSeconds} seconds.`;
  return new CliError(exitCode, [error.message, ...problems].join('\n  '), {
    hint: hints[code] ?? wait,
    details: {
      code,
      status,
      correlation_id: correlationId,
      ...(body.details === undefined ? {} : { details: body.details }),
    },
    cause: error,
  });
}

function explainPreprocessing({ faults, message }: PreprocessError): CliError {
  const complaints = faults.map((fault) => ({
    message: fault.message,
    at: fault.at === null ? undefined : describeOrigin(fault.at),
  }));
  return new CliError(exitCodes.script, message, {
    complaints,
    details: { code: 'preprocessing', places: complaints.map(({ message: text, at }) => placeOf(text, at)) },
    hint: message.includes('No value for') ? 'Give values with --from-env-file or --from-secret.' : undefined,
  });
}

const placeOf = (message: string, at: ReturnType<typeof describeOrigin> | undefined) => ({
  message,
  file: at?.name ?? null,
  line: at?.line ?? null,
  column: at?.column ?? null,
});

/** How `fetch` says that there was no answer. */
const isConnectionError = (error: unknown): error is TypeError =>
  error instanceof TypeError && (error.message === 'fetch failed' || error.message === 'terminated');

function explainConnection(error: TypeError): CliError {
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : code || error.message;
  return new CliError(exitCodes.unreachable, `The service does not answer: ${reason}`, {
    hint: 'Is it running, and is the address right? lintel doctor looks.',
    details: { code: 'unreachable' },
    cause: error,
  });
}
