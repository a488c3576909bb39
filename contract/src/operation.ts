import type { Static, TObject, TSchema } from 'typebox';
import type { ErrorCode } from './errors.ts';
import type { EventType } from './events.ts';
import type { PlainRole } from './roles.ts';

/**
 * public        no credential is looked at
 * principal     a user's session, an API key or an agent's credential
 * session       a browser session only
 * session_probe a browser session if there is one; a bearer credential, when sent, must be valid
 */
export type AuthKind = 'public' | 'principal' | 'session' | 'session_probe';

/**
 * none       the operation has no organization
 * header     X-Org, required for users; a key's own organization otherwise
 * principal  the principal's own organization; X-Org, else their only one, for users
 * path       the organization named in the path by `orgParam`
 */
export type OrgKind = 'none' | 'header' | 'principal' | 'path';

/** A role, membership alone, or a rule in words that the service itself enforces and a named test covers. */
export type RoleRequirement = PlainRole | 'member' | { readonly rule: string };

export interface HeaderParameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
}

/** The body is a form with one file, in the field `file`. */
export interface UploadSpec {
  readonly maxBytes: number;
  readonly mediaTypes: readonly string[];
}

export interface OperationSpec {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to /api/v1, parameters in braces. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly auth: AuthKind;
  /**
   * The credential may be recalled from memory: only where the operation's own commit verifies it again together
   * with the organization's epoch, so that a revocation still holds on the next request.
   */
  readonly verifiedInCommit?: boolean;
  /** Whether an agent's credential may call it. */
  readonly agents: boolean;
  readonly org: OrgKind;
  readonly orgParam?: string;
  /** For an organization in the path: a soft-deleted one is unknown to every operation that does not say this. */
  readonly allowsDeletedOrg?: boolean;
  readonly role: RoleRequirement;
  /** Whoever has a building role in the organization is let in as well; the decision says to which entities. */
  readonly buildingRoles?: true;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Where the body may be larger than that of other operations. */
  readonly maxBodyBytes?: number;
  /** Where an answer may take longer than that of other operations. */
  readonly answersWithinMs?: number;
  /** In place of `body`; the handler gets the bytes of the file. */
  readonly upload?: UploadSpec;
  readonly headers?: readonly HeaderParameter[];
  /** The first one is what a handler's result is sent with. */
  readonly responses: { readonly [status: number]: TSchema | null };
  /** The codes beyond the ones every operation of its kind can answer. */
  readonly errors: readonly ErrorCode[];
  /** The event a success writes; null only for an operation that changes nothing. */
  readonly audit: EventType | null;
}

export function defineOperation<const S extends OperationSpec>(spec: S): S {
  return spec;
}

type SchemaType<S> = S extends TSchema ? Static<S> : undefined;
type SuccessStatus<S extends OperationSpec> = keyof S['responses'] & number;

export type ParamsOf<S extends OperationSpec> = S['params'] extends TObject
  ? Static<S['params']>
  : Record<never, never>;
export type QueryOf<S extends OperationSpec> = S['query'] extends TObject
  ? Static<S['query']>
  : Record<never, never>;
export type BodyOf<S extends OperationSpec> = S extends { readonly upload: UploadSpec }
  ? Uint8Array<ArrayBuffer>
  : SchemaType<S['body']>;
export type ResultOf<S extends OperationSpec> = {
  [Status in SuccessStatus<S>]: S['responses'][Status] extends TSchema
    ? Static<S['responses'][Status]>
    : undefined;
}[SuccessStatus<S>];

export function successStatus(operation: OperationSpec): number {
  const [first] = Object.keys(operation.responses);
  if (first === undefined) throw new Error(`operation ${operation.id} declares no response`);
  return Number(first);
}

export function isMutation(operation: OperationSpec): boolean {
  return operation.audit !== null;
}

/** Every code an operation can answer: its own and those that follow from its kind. */
export function errorsOf(operation: OperationSpec): ErrorCode[] {
  const codes = new Set<ErrorCode>(operation.errors);
  codes.add('validation_error');
  if (operation.auth !== 'public') codes.add('unauthorized');
  if (operation.auth === 'principal' || operation.auth === 'session') codes.add('forbidden');
  if (operation.params !== undefined) codes.add('not_found');
  if (operation.org === 'principal' || operation.org === 'header') codes.add('org_required');
  codes.add('unavailable');
  return [...codes].sort();
}
