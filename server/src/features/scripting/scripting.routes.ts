import type { HandlersOf } from '../../kernel/handler.ts';
import type { ScriptingService } from './scripting.service.ts';

export function scriptingRoutes(scripting: ScriptingService): HandlersOf<'execute_script'> {
  return {
    execute_script: async ({ call, org, query, body }) => {
      const input = { script: body.script, isPlan: query.plan ?? false };
      const { result, ...rest } = await scripting.execute(call, org, input);
      return { result: writable(result), ...rest };
    },
  };
}

/** Not in the library of TypeScript yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

const hasBigint = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint';
  return Object.values(value).some(hasBigint);
};

/** Integers beyond 2^53 keep their digits. */
const writable = (value: unknown): unknown => (hasBigint(value) ? withDigits(value) : value);

function withDigits(value: unknown): unknown {
  if (typeof value === 'bigint') return rawJSON(String(value));
  if (Array.isArray(value)) return value.map(withDigits);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withDigits(item)]));
}
