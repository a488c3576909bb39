/** Where bytes are kept that are too large for the database. Keys are made by us, never by a caller. */
export interface ObjectStore {
  /** Whole or not at all: nobody ever reads half an object. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is none. */
  get(key: string): Promise<Uint8Array | null>;
  /** No error when there is none, so that it can be repeated. */
  delete(key: string): Promise<void>;
}
