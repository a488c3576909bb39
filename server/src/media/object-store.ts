import { AppError } from '../kernel/app-error.ts';

/** Where bytes are kept that are too large for the database. Keys are made by us, never by a caller. */
export interface ObjectStore {
  /** Whole or not at all: nobody ever reads half an object. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is none. */
  get(key: string): Promise<Uint8Array | null>;
  /** No error when there is none, so that it can be repeated. */
  delete(key: string): Promise<void>;
  /** Writes, reads and deletes an object of its own; throws an ObjectStoreError where that does not work. */
  check(): Promise<void>;
}

/** Callers learn that it is no fault of theirs; the reason is for the operator. It never holds a credential. */
export class ObjectStoreError extends AppError {
  readonly reason: string;
  /** Whether the settings have to change before it can work. */
  readonly isPermanent: boolean;

  constructor(reason: string, isPermanent: boolean) {
    super('unavailable', 'images can not be stored or read right now');
    this.reason = reason;
    this.isPermanent = isPermanent;
  }
}

const keyPattern = /^[A-Za-z0-9]+(?:[./-][A-Za-z0-9]+)*$/;

export function requireKey(key: string): string {
  if (!keyPattern.test(key)) throw new Error('not a key of the object store');
  return key;
}
