import type { TSchema } from 'typebox';
import type { JsonSchema } from './openapi-types.ts';

export interface SchemaRegistry {
  /** The schema as plain JSON Schema; titled ones, at any depth, become components and are referenced. */
  readonly use: (schema: TSchema) => JsonSchema;
  /** What a reference stands for; any other schema is itself. */
  readonly resolve: (schema: JsonSchema) => JsonSchema;
  readonly components: () => Record<string, JsonSchema>;
}

export const componentPrefix = '#/components/schemas/';

const componentName = /^[A-Za-z0-9._-]+$/;

export function createSchemaRegistry(): SchemaRegistry {
  const components = new Map<string, JsonSchema>();

  const register = (title: string, schema: JsonSchema): JsonSchema => {
    if (!componentName.test(title)) throw new Error(`schema title ${title} can not name a component`);
    const known = components.get(title);
    // Conversion keeps the order of members, so equal text means equal content.
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two different schemas are titled ${title}`);
    }
    components.set(title, schema);
    return { $ref: `${componentPrefix}${title}` };
  };

  const convert = (schema: unknown): JsonSchema => {
    const plain = simplify(convertMembers(asRecord(schema), convert));
    return plain.title === undefined ? plain : register(plain.title, plain);
  };

  return {
    use: convert,
    resolve: (schema) => components.get(schema.$ref?.slice(componentPrefix.length) ?? '') ?? schema,
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

type Convert = (schema: unknown) => JsonSchema;

/** TypeBox keeps its own marks under `~` names; they are no JSON Schema keywords. */
function convertMembers(schema: Record<string, unknown>, convert: Convert): Record<string, unknown> {
  const entries = Object.entries(schema).filter(([keyword]) => !keyword.startsWith('~'));
  return Object.fromEntries(
    entries.map(([keyword, value]) => [keyword, convertMember(keyword, value, convert)]),
  );
}

function convertMember(keyword: string, value: unknown, convert: Convert): unknown {
  switch (keyword) {
    case 'properties':
    case 'patternProperties':
      return Object.fromEntries(Object.entries(asRecord(value)).map(([name, part]) => [name, convert(part)]));
    case 'items':
    case 'additionalProperties':
      return typeof value === 'boolean' ? value : convert(value);
    case 'anyOf':
      return Array.isArray(value) ? value.map(convert) : value;
    default:
      return value;
  }
}

/** Says the same with the keywords that readers and client generators understand best. */
function simplify(schema: Record<string, unknown>): JsonSchema {
  return simplifyNullable(simplifyLiterals(simplifyMap(schema)));
}

const anyKey = '^.*$';

function simplifyMap(schema: Record<string, unknown>): JsonSchema & { patternProperties?: unknown } {
  const { patternProperties, ...rest } = schema;
  if (patternProperties === undefined) return rest;
  const entries = Object.entries(asRecord(patternProperties));
  const [first] = entries;
  if (entries.length !== 1 || first?.[0] !== anyKey || 'additionalProperties' in rest) return schema;
  return { ...rest, additionalProperties: asRecord(first[1]) };
}

function simplifyLiterals(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  const isLiterals = anyOf?.every((part) => part.type === 'string' && typeof part.const === 'string');
  if (anyOf === undefined || !isLiterals) return schema;
  return { ...rest, type: 'string', enum: anyOf.map((part) => part.const) };
}

/** `string or null` as one type list. Only where no keyword of the other part judges null as well. */
function simplifyNullable(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  const [part, nothing] = anyOf ?? [];
  if (anyOf?.length !== 2 || part === undefined || nothing?.type !== 'null') return schema;
  if (typeof part.type !== 'string' || part.const !== undefined) return schema;
  const values = part.enum === undefined ? {} : { enum: [...part.enum, null] };
  return { ...part, ...rest, type: [part.type, 'null'], ...values };
}

function asRecord(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError(`not a schema: ${JSON.stringify(value)}`);
  }
  return value as Record<string, unknown>;
}
