import { generateToken, sha256 } from '../kernel/secret.ts';
import type { EngineDeps } from './engine.ts';
import { insertConfirmation } from './intents.store.ts';
import type { PreparedAction } from './prepare-action.ts';

const lifetimeSeconds = 600;

export function confirmationHash(token: string): Buffer {
  return sha256(token);
}

/** A single-use proof that the same caller saw what this exact request does. It is not a second factor. */
export async function issueConfirmation(
  deps: Pick<EngineDeps, 'db'>,
  action: Pick<PreparedAction, 'org' | 'fingerprint'>,
): Promise<{ token: string; expiresAt: Date }> {
  const token = generateToken();
  const proof = {
    orgId: action.org.id,
    tokenHash: confirmationHash(token),
    fingerprint: action.fingerprint,
    lifetimeSeconds,
  };
  const expiresAt = await deps.db.inOrg(action.org.id, (tx) => insertConfirmation(tx, proof));
  return { token, expiresAt };
}
