import type { Server } from 'node:http';

const IDLE_CHECK_MS = 50;

/**
 * Ends connections while the service closes: those that have become idle at once, the rest after `graceMs`. Without it
 * a client that keeps its connection alive keeps the service alive.
 */
export async function drain(
  server: Pick<Server, 'closeIdleConnections' | 'closeAllConnections'>,
  close: () => Promise<void>,
  graceMs: number,
): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
  try {
    await close();
  } finally {
    clearInterval(idle);
    clearTimeout(deadline);
  }
}
