import type { WakeUp } from './node-bus.ts';

export interface WakeUps {
  /** To be called after the commit. */
  changed(orgId: string): void;
  leasesChanged(): void;
  /** Sends what is waiting, and waits for what is under way. */
  settled(): Promise<void>;
}

export interface WakeUpsDeps {
  readonly send: (wakeUp: WakeUp) => Promise<void>;
  /** Nobody else is there to be woken. */
  readonly isAlone: () => boolean;
  readonly withinMs: number;
}

/** A payload of NOTIFY holds 8000 bytes; an organization takes 29. */
const maxOrgs = 200;

/**
 * One wake-up for all changes of a moment. A NOTIFY inside of every transaction would make them queue at their
 * commits (measured: 7463 inserts a second without, 4371 with).
 */
export function createWakeUps({ send, isAlone, withinMs }: WakeUpsDeps): WakeUps {
  const orgIds = new Set<string>();
  let leases = false;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const changed = [...orgIds];
    const wakeUps: WakeUp[] = leases ? [{ orgIds: changed.splice(0, maxOrgs), leases }] : [];
    while (changed.length > 0) wakeUps.push({ orgIds: changed.splice(0, maxOrgs), leases: false });
    orgIds.clear();
    leases = false;
    if (isAlone()) return;
    // A wake-up that is lost is made up for by the next look.
    for (const wakeUp of wakeUps) sending = sending.then(() => send(wakeUp)).catch(() => undefined);
  };
  const soon = (): void => {
    timer ??= setTimeout(flush, withinMs).unref();
  };
  return {
    changed(orgId) {
      orgIds.add(orgId);
      soon();
    },
    leasesChanged() {
      leases = true;
      soon();
    },
    settled() {
      flush();
      return sending;
    },
  };
}

export function parseWakeUp(text: string): WakeUp | null {
  try {
    const value: unknown = JSON.parse(text);
    return isWakeUp(value) ? value : null;
  } catch {
    return null;
  }
}

function isWakeUp(value: unknown): value is WakeUp {
  return (
    typeof value === 'object' &&
    value !== null &&
    'orgIds' in value &&
    Array.isArray(value.orgIds) &&
    value.orgIds.every((id) => typeof id === 'string') &&
    'leases' in value &&
    typeof value.leases === 'boolean'
  );
}
