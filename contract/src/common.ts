import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';

export const ulidPattern = '^[0-7][0-9A-HJKMNP-TV-Z]{25}$';

export const Ulid = Type.String({ pattern: ulidPattern, description: 'ULID: 26 characters, upper case' });

/** In a path a malformed id is simply unknown (404), so paths take any text and the lookup decides. */
export const PathId = Type.String({ minLength: 1, maxLength: 128 });

export const Timestamp = Type.String({ format: 'date-time', description: 'RFC 3339, UTC, milliseconds' });

export const LocalizedText = Type.Record(Type.String(), Type.String(), { description: 'locale → text' });
export type LocalizedText = Static<typeof LocalizedText>;

export const LocalizedTextInput = Type.Union(
  [Type.String({ maxLength: 1000 }), Type.Record(Type.String(), Type.Unknown())],
  { description: 'A plain string, a map locale → text, or {"value": {locale: text}}' },
);

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

export function OptionalNullable<T extends TSchema>(schema: T) {
  return Type.Optional(Nullable(schema));
}

/** A closed record: unknown members are refused with 400. `title` names it in the OpenAPI document. */
export function Closed<P extends TProperties>(title: string, properties: P) {
  return Type.Object(properties, { title, additionalProperties: false });
}

/** A response record. Also closed: what is not declared never leaves the service. */
export function Response<P extends TProperties>(title: string, properties: P) {
  return Type.Object(properties, { title, additionalProperties: false });
}

export const lifecycle = {
  created_at: Timestamp,
  updated_at: Timestamp,
  deleted_at: Type.Optional(Timestamp),
  purge_at: Type.Optional(Timestamp),
  hard_delete_at: Type.Optional(Timestamp),
};

export const pagination = {
  limit: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 200, default: 50, description: 'Page size, 50 unless given' }),
  ),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 0 })),
};

export const deletionOptions = {
  include_deleted: Type.Optional(Type.Boolean({ default: false })),
  only_deleted: Type.Optional(Type.Boolean({ default: false, description: 'Implies include_deleted' })),
};

export const includeDeleted = { include_deleted: deletionOptions.include_deleted };

export function Page<T extends TObject>(item: T) {
  const title: unknown = Reflect.get(item, 'title');
  return Response(`${typeof title === 'string' ? title : 'Item'}Page`, {
    items: Type.Array(item),
    total: Type.Integer({ minimum: 0 }),
  });
}

export const IdParams = Type.Object({ id: PathId });
export const OrgIdParams = Type.Object({ org_id: PathId });

export const ApiError = Response('ApiErrorResponse', {
  message: Type.String(),
  code: Type.String(),
  error_code: Type.String({ description: 'The same value as code, for newer clients' }),
  correlationId: Type.String(),
  details: Type.Optional(
    Type.Array(
      Type.Object(
        {
          path: Type.String(),
          message: Type.String(),
          key: Type.Optional(Type.String({ description: 'With quota_exceeded: what is used up' })),
          period: Type.Optional(Type.String()),
          current: Type.Optional(Type.Integer()),
          limit: Type.Optional(Type.Integer()),
          line: Type.Optional(Type.Integer({ description: 'With script_error: from 1' })),
          column: Type.Optional(Type.Integer()),
        },
        { additionalProperties: false },
      ),
    ),
  ),
  preview_token: Type.Optional(
    Type.String({ description: 'With confirmation_required: the value to send back' }),
  ),
  line: Type.Optional(Type.Integer({ description: 'With script_error: as in details' })),
  column: Type.Optional(Type.Integer()),
  output: Type.Optional(
    Type.Array(Type.String(), { description: 'With script_error: what the script printed before' }),
  ),
});
export type ApiError = Static<typeof ApiError>;
