import { AppError } from './app-error.ts';
import type { Call } from './call.ts';

/**
 * Something changed between the decision and its commit: who the caller is and what they may do must be looked up
 * again. The edge runs the request once more from the start; nothing was done.
 */
export class StaleDecision extends Error {
  constructor() {
    super('the organization changed while the request was decided');
    this.name = 'StaleDecision';
  }
}

/**
 * Before the commit has verified a recalled principal, nothing may be refused in their name: perhaps the credential was
 * revoked, and then the answer is another one. So the request starts over with a fresh look-up.
 */
export async function refusedOnlyAfresh<T>(call: Pick<Call, 'recalled'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw call.recalled === true && isRefusal(error) ? new StaleDecision() : error;
  }
}

/** That the service can not answer says nothing about the caller, and asking again would only take as long again. */
function isRefusal(error: unknown): boolean {
  return error instanceof AppError && error.code !== 'unavailable';
}
