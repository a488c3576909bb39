import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, toRfc3339 } from '../../kernel/clock.ts';
import type { Command, Verb } from '../provider.ts';

export interface CommandLog {
  append(verb: Verb, command: Command): void;
  close(): void;
}

/**
 * The device's own memory of what it was told, outside the database: what the audit log can be checked against.
 * A line is written before the door moves, so a crash can lose a move but never hide one; the page cache takes it in
 * microseconds, less than handing it to another thread would cost.
 */
export function createCommandLog(dataDir: string, clock: Clock): CommandLog {
  let file: number | null = null;
  const opened = (): number => {
    const dir = join(dataDir, 'virtual-demo');
    mkdirSync(dir, { recursive: true });
    return openSync(join(dir, 'commands.jsonl'), 'a');
  };
  return {
    append(verb, { intentId, entity: { entityId } }) {
      file ??= opened();
      const line = { at: toRfc3339(clock.now()), intent_id: intentId, entity_id: entityId, command: verb };
      writeSync(file, `${JSON.stringify(line)}\n`);
    },
    close() {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}
