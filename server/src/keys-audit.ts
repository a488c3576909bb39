import { recordEvent } from './audit/audit.store.ts';
import type { Database } from './db/database.ts';
import { findInstallation } from './first-run.store.ts';
import { systemActor } from './kernel/call.ts';
import { ulid } from './kernel/ulid.ts';

// After the change and not in its transaction: the role that may touch keys may not write events.
const origin = () => ({ actor: systemActor, source: 'system' as const, correlationId: ulid() });

export async function recordDataKeyRotation(db: Database, orgId: string, reencrypted: number): Promise<void> {
  await db.inOrg(orgId, (tx) =>
    recordEvent(tx, origin(), {
      orgId,
      type: 'secrets.key_rotated',
      details: { level: 'data_key', reencrypted },
    }),
  );
}

/** A key encryption key is everybody's, so its event belongs to the root organization. */
export async function recordKekRotation(db: Database, kid: string, rewrapped: number): Promise<void> {
  // As the service: no organization is known yet.
  await db.asService(async (tx) => {
    const installation = await findInstallation(tx);
    if (installation === null) return;
    await recordEvent(tx, origin(), {
      orgId: installation.rootOrgId,
      type: 'secrets.key_rotated',
      details: { level: 'key_encryption_key', kid, rewrapped },
    });
  });
}
