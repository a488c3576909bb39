import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, toRfc3339 } from '../../kernel/clock.ts';
import type { Command, Verb } from '../provider.ts';

export interface CommandLog {
  append(verb: Verb, command: Command): Promise<void>;
  close(): Promise<void>;
}

/**
 * The device's own memory of what it was told, outside the database: what the audit log can be checked against.
 * A line is written before the door moves, so a crash can lose a move but never hide one.
 */
export function createCommandLog(dataDir: string, clock: Clock): CommandLog {
  const dir = join(dataDir, 'virtual-demo');
  let file: ReturnType<typeof open> | undefined;
  const opened = () => {
    file ??= mkdir(dir, { recursive: true }).then(() => open(join(dir, 'commands.jsonl'), 'a'));
    return file;
  };
  return {
    async append(verb, command) {
      const { intentId, entityId } = command;
      const line = JSON.stringify({
        at: toRfc3339(clock.now()),
        intent_id: intentId,
        entity_id: entityId,
        command: verb,
      });
      await (await opened()).appendFile(`${line}\n`);
    },
    async close() {
      if (file !== undefined) await (await file).close();
    },
  };
}
