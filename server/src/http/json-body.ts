import type { FastifyInstance } from 'fastify';
import { AppError, type FieldProblem } from '../kernel/app-error.ts';
import { exceedsDepth } from '../kernel/json-depth.ts';

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
  const problem = findUnstorableText(value, '');
  if (problem !== null)
    throw new AppError('validation_error', `${problem.path} ${problem.message}`, { details: [problem] });
  return value;
}

/** NUL can not be stored as text, and half a surrogate pair has no UTF-8 form: refused here, once, for everything. */
function findUnstorableText(value: unknown, path: string): FieldProblem | null {
  if (typeof value === 'string') return badText(value, path || '/');
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__') return { path: `${path}/__proto__`, message: 'is not a known member' };
    const found = badText(key, path || '/') ?? findUnstorableText(member, `${path}/${key}`);
    if (found !== null) return found;
  }
  return null;
}

function badText(text: string, path: string): FieldProblem | null {
  if (text.includes('\0')) return { path, message: 'contains a NUL character' };
  return text.isWellFormed() ? null : { path, message: 'contains an unpaired surrogate' };
}

export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, parseJsonBody(text.toString()));
    } catch (error) {
      done(error as Error);
    }
  });
}
