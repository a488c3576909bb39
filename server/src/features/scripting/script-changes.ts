import type { ScriptChange } from '@lintel/contract/scripting';
import { AppError } from '../../kernel/app-error.ts';

/** What a script did, or would do in a plan. Only a plan tells them all; of others it is enough how many they were. */
export interface ChangeLog {
  /** Before anything is done: refuses what the list has no room for. */
  reserve(fields: ScriptChange['fields']): void;
  add(change: ScriptChange): void;
  readonly count: () => number;
  readonly listed: () => ScriptChange[];
}

const maxBytes = 4 * 1024 * 1024;
/** Of a change without its fields. */
const ownBytes = 100;

export function createChangeLog(isListed: boolean): ChangeLog {
  const changes: ScriptChange[] = [];
  let count = 0;
  let bytes = 0;
  return {
    reserve: (fields) => {
      if (!isListed) return;
      bytes += ownBytes + Buffer.byteLength(JSON.stringify(fields));
      if (bytes > maxBytes)
        throw new AppError(
          'validation_error',
          'the changes are more than a plan can list: plan a part of them',
        );
    },
    add: (change) => {
      count += 1;
      if (isListed) changes.push(change);
    },
    count: () => count,
    listed: () => changes,
  };
}
