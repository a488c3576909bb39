import type { ScriptProcess } from './script-process.ts';

const idleMs = 60_000;

export interface IdleProcesses {
  take(): ScriptProcess | null;
  giveBack(worker: ScriptProcess): void;
  close(): void;
}

/** Processes that wait for their next script. One that has grown is ended: nobody knows when it would shrink. */
export function createIdleProcesses(maxMemoryMb: number): IdleProcesses {
  /** With what forgets them; those whose memory is still looked at are not ready. */
  const all = new Map<ScriptProcess, { isReady: boolean; readonly timer: NodeJS.Timeout }>();
  const forget = (worker: ScriptProcess): ScriptProcess => {
    clearTimeout(all.get(worker)?.timer);
    all.delete(worker);
    return worker;
  };
  const drop = (worker: ScriptProcess) => forget(worker).end();
  const look = async (worker: ScriptProcess): Promise<void> => {
    const used = await worker.memoryMb();
    const entry = all.get(worker);
    if (entry === undefined) return;
    if (used === null || used > maxMemoryMb) drop(worker);
    else entry.isReady = true;
  };
  return {
    take: () => {
      const [ready] = [...all].find(([, { isReady }]) => isReady) ?? [];
      return ready === undefined ? null : forget(ready);
    },
    giveBack: (worker) => {
      all.set(worker, { isReady: false, timer: setTimeout(() => drop(worker), idleMs).unref() });
      worker.listen({ hear: () => drop(worker), leave: () => drop(worker) });
      worker.letGo();
      void look(worker);
    },
    close: () => {
      for (const worker of [...all.keys()]) drop(worker);
    },
  };
}
