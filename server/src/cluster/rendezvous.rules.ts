import { sha256 } from '../kernel/secret.ts';

/**
 * The node that should hold a lease, by rendezvous hashing: every node comes to the same answer without asking, and a
 * node that comes or goes moves only its own share. Null when there is none.
 */
export function preferredNode(nodeIds: readonly string[], integrationId: string): string | null {
  if (nodeIds.length <= 1) return nodeIds[0] ?? null;
  let best: { readonly id: string; readonly weight: Buffer } | null = null;
  for (const id of nodeIds) {
    const weight = sha256(`${id} ${integrationId}`);
    if (best === null || weight.compare(best.weight) > 0) best = { id, weight };
  }
  return best?.id ?? null;
}
