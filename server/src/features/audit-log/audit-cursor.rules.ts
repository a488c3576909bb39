import { equalInConstantTime } from '../../kernel/secret.ts';
import { isUlid } from '../../kernel/ulid.ts';

/** Where the previous page ended. */
export interface CursorPosition {
  /** Of the last event, as text: PostgreSQL counts microseconds, Date only milliseconds. */
  readonly occurredAt: string;
  readonly id: string;
  /** When the first page was asked for, in milliseconds: a walk keeps the window it began with. */
  readonly walkStartedAt: number;
}

/** Binds a cursor to the organization it was made for; what it does not sign is not taken back. */
export type CursorSign = (text: string) => Buffer;

const macBytes = 16;
const payloadPattern = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z) (\w{26}) (\d{1,16})$/;

export function encodeCursor({ occurredAt, id, walkStartedAt }: CursorPosition, sign: CursorSign): string {
  const payload = `${occurredAt} ${id} ${walkStartedAt}`;
  return Buffer.concat([mac(sign, payload), Buffer.from(payload)]).toString('base64url');
}

/** Null for anything that encodeCursor did not give out. */
export function decodeCursor(text: string, sign: CursorSign): CursorPosition | null {
  const bytes = Buffer.from(text, 'base64url');
  // Node skips what is not base64url, so one position would have many spellings.
  if (bytes.toString('base64url') !== text) return null;
  const payload = bytes.subarray(macBytes).toString();
  if (!equalInConstantTime(bytes.subarray(0, macBytes), mac(sign, payload))) return null;
  const [, occurredAt, id, startedAt] = payloadPattern.exec(payload) ?? [];
  if (occurredAt === undefined || !isUlid(id)) return null;
  return { occurredAt, id, walkStartedAt: Number(startedAt) };
}

function mac(sign: CursorSign, payload: string): Buffer {
  return sign(payload).subarray(0, macBytes);
}
