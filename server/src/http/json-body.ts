import type { FastifyInstance } from 'fastify';
import { AppError, type FieldProblem } from '../kernel/app-error.ts';
import { exceedsDepth } from '../kernel/json-depth.ts';
import { findDuplicateMember } from '../kernel/json-duplicates.ts';

export const maxJsonDepth = 32;

/** Depth is checked on the text: JSON.parse would take a million levels and the next recursion would not. */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  if (exceedsDepth(text, maxJsonDepth)) {
    throw new AppError('malformed_json', `the body nests deeper than ${maxJsonDepth} levels`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AppError('malformed_json', 'the body is not valid JSON');
  }
  const problem = findDuplicate(text) ?? findUnstorable(value, '');
  if (problem !== null)
    throw new AppError('validation_error', `${problem.path} ${problem.message}`, { details: [problem] });
  return value;
}

/** A member named twice means one thing to us and may mean another to whoever looked at the body before us. */
function findDuplicate(text: string): FieldProblem | null {
  const path = findDuplicateMember(text);
  return path === null ? null : { path, message: 'is given twice' };
}

/**
 * NUL can not be stored as text, half a surrogate pair has no UTF-8 form, and 1e309 is no number here: refused here,
 * once, for everything.
 */
function findUnstorable(value: unknown, path: string): FieldProblem | null {
  if (typeof value === 'string') return badText(value, path || '/');
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { path: path || '/', message: 'is out of range' };
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__') return { path: `${path}/__proto__`, message: 'is not a known member' };
    const found = badText(key, path || '/') ?? findUnstorable(member, `${path}/${key}`);
    if (found !== null) return found;
  }
  return null;
}

function badText(text: string, path: string): FieldProblem | null {
  if (text.includes('\0')) return { path, message: 'contains a NUL character' };
  return text.isWellFormed() ? null : { path, message: 'contains an unpaired surrogate' };
}

/** Strictly: a lenient decoder would put replacement characters into what is then stored. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new AppError('malformed_json', 'the body is not valid UTF-8');
  }
}

export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
    try {
      done(null, parseJsonBody(decodeUtf8(bytes as Buffer)));
    } catch (error) {
      done(error as Error);
    }
  });
}
