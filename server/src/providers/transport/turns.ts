export interface Turn {
  /** Goes before everything that is not, as a command does before a reading. */
  readonly urgent: boolean;
  readonly withinMs: number;
}

export interface Turns {
  /** One piece of work at a time. Null when its turn did not come in time: then it never begins. */
  take<T>(turn: Turn, work: () => Promise<T>): Promise<T | null>;
}

interface Waiting {
  readonly urgent: boolean;
  readonly begin: () => Promise<unknown>;
}

export function createTurns(): Turns {
  const waiting: Waiting[] = [];
  let busy = false;

  async function work(): Promise<void> {
    if (busy) return;
    busy = true;
    for (let next = nextOf(waiting); next !== undefined; next = nextOf(waiting)) await next.begin();
    busy = false;
  }

  return {
    take: (turn, job) =>
      new Promise((resolve, reject) => {
        const entry: Waiting = {
          urgent: turn.urgent,
          begin: () => {
            clearTimeout(expiry);
            return job().then(resolve, reject);
          },
        };
        const expiry = setTimeout(() => {
          waiting.splice(waiting.indexOf(entry), 1);
          resolve(null);
        }, turn.withinMs);
        waiting.push(entry);
        void work();
      }),
  };
}

function nextOf(waiting: Waiting[]): Waiting | undefined {
  const urgent = waiting.findIndex((entry) => entry.urgent);
  return waiting.splice(Math.max(urgent, 0), 1)[0];
}
