import { systemClock } from '../../../src/kernel/clock.ts';
import { opOf } from '../../../src/providers/ops.ts';
import type { Connection, OpLimits, OpResult } from '../../../src/providers/provider.ts';

export function opLimits(withinMs = 5_000): OpLimits {
  return { deadlineMs: systemClock.monotonicMs() + withinMs, signal: AbortSignal.timeout(withinMs) };
}

/** As the service runs it; an op the connection does not have is a fault of the test. */
export function runOp(
  connection: Connection,
  id: string,
  input: Record<string, unknown> = {},
  withinMs = 5_000,
): Promise<OpResult> {
  const op = opOf(connection, id);
  if (op === undefined) throw new Error(`there is no op ${id}`);
  return op(input, opLimits(withinMs));
}
