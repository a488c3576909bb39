import { ApiCallError } from '@lintel/contract/client';

/** What went wrong, in words for the person at the page. */
export interface Problem {
  readonly text: string;
  readonly correlationId: string | null;
}

const wordings: Readonly<Record<string, string>> = {
  outcome_unknown: 'The device did not answer. It may have moved: look before you press again.',
  device_unreachable: 'The device could not be reached. Nothing happened; you can try again.',
  device_refused: 'The device refused. Nothing moved.',
  integration_disabled: 'These devices are paused. Nothing happened.',
  action_not_implemented: 'This device can not do that.',
  confirmation_required: 'This needs a confirmation, which this page can not ask for. Nothing happened.',
  forbidden: 'You may not do this here.',
  unavailable: 'The service can not decide right now. Nothing happened; try again in a moment.',
  internal_error: 'Something went wrong in the service.',
};

export function problemOf(error: unknown): Problem {
  if (!(error instanceof ApiCallError))
    return { text: 'The service can not be reached.', correlationId: null };
  return { text: textOf(error), correlationId: error.correlationId || null };
}

function textOf(error: ApiCallError): string {
  if (error.code === 'provider_open_rate_limited')
    return `Too soon after the last one. ${waitText(error)} Nothing happened.`;
  if (error.status === 429) return `${sentence(error.message)} ${waitText(error)}`;
  return wordings[error.code] ?? sentence(error.message);
}

function waitText({ retryAfterSeconds }: ApiCallError): string {
  return retryAfterSeconds === null
    ? 'Wait a moment, then try again.'
    : `Try again in ${retryAfterSeconds} s.`;
}

function sentence(message: string): string {
  const text = message.trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
