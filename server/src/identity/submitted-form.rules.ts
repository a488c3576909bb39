/** What a form or JSON body holds; every member may be missing or of the wrong type. */
export interface SubmittedForm {
  readonly method: string | null;
  readonly csrfToken: string | null;
  readonly identifier: string | null;
  readonly password: string | null;
  readonly email: string | null;
  readonly name: string | null;
  /** An organization invitation's token or a first-run code. */
  readonly code: string | null;
}

type Members = Readonly<Record<string, unknown>>;

/** Kratos takes nested JSON, and forms whose field names carry the path: `traits.email`. */
export function readSubmittedForm(body: unknown): SubmittedForm {
  const root = isMembers(body) ? body : {};
  const text = (group: string | null, name: string): string | null => {
    const nested = group === null ? root : root[group];
    const value = isMembers(nested) ? nested[name] : undefined;
    const flat = group === null ? undefined : root[`${group}.${name}`];
    return textOrNull(value ?? flat);
  };
  return {
    method: text(null, 'method'),
    csrfToken: text(null, 'csrf_token'),
    identifier: text(null, 'identifier') ?? text(null, 'password_identifier'),
    password: text(null, 'password'),
    email: text('traits', 'email'),
    name: text('traits', 'name'),
    code: text('transient_payload', 'code'),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
