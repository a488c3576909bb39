import { findOrgScope } from '../../../src/auth/principal.store.ts';
import type { EngineDeps } from '../../../src/engine/engine.ts';

interface Lost {
  readonly org_id: string;
  readonly id: string;
  readonly entity_id: string;
}

/** The mutant: what a lost node had begun is finished by the next one, as a job queue would. */
export async function resendLost({ db, targets, deliveries, clock }: EngineDeps): Promise<void> {
  // Unknown too: when this node starts late, the real recovery has been there before.
  const text = `select org_id, id, entity_id from intents where state in ('dispatching', 'unknown')`;
  const lost = await db.asService((tx) => tx.query<Lost>({ text, values: [] }));
  for (const { org_id, id, entity_id } of lost) {
    const org = await db.inOrg(org_id, (tx) => findOrgScope(tx, org_id));
    const target = org === null ? null : await targets.find(org, entity_id);
    if (target === null) continue;
    const errand = {
      intentId: id,
      entity: target,
      pulseSeconds: null,
      deadlineMs: clock.monotonicMs() + 5_000,
    };
    await deliveries.deliver({ orgId: org_id, ...target }, 'open', errand);
  }
}
