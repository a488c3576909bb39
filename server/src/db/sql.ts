import { createHash } from 'node:crypto';

/** A statement with its values. Its name makes PostgreSQL keep the plan; equal text gives an equal name. */
export interface SqlQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Somebody waits at a door for it. */
  readonly isUrgent?: boolean;
}

const names = new Map<string, string>();

export function preparedName(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24);
    names.set(text, name);
  }
  return name;
}

function isQuery(value: unknown): value is SqlQuery {
  return typeof value === 'object' && value !== null && 'text' in value && 'values' in value;
}

/** Builds a statement; a value that is itself a statement is spliced in, anything else becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...parts: readonly unknown[]): SqlQuery {
  let text = strings[0] ?? '';
  const values: unknown[] = [];
  parts.forEach((part, index) => {
    if (isQuery(part)) {
      text += shiftPlaceholders(part.text, values.length);
      values.push(...part.values);
    } else {
      values.push(part);
      text += `$${values.length}`;
    }
    text += strings[index + 1] ?? '';
  });
  return { text, values };
}

function shiftPlaceholders(text: string, by: number): string {
  return by === 0 ? text : text.replace(/\$(\d+)/g, (_, position: string) => `$${Number(position) + by}`);
}

export const nothing: SqlQuery = { text: '', values: [] };

export function joinSql(parts: readonly SqlQuery[], separator: ' and ' | ', ' | ' or '): SqlQuery {
  return parts.reduce<SqlQuery>(
    (joined, part) => (joined === nothing ? part : sql`${joined}${{ text: separator, values: [] }}${part}`),
    nothing,
  );
}

/** A part of a LIKE pattern in which no character of the input is special. */
export function likeContains(text: string): string {
  return `%${text.replace(/[\\%_]/g, (special) => `\\${special}`)}%`;
}
