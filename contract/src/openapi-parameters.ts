import type { TObject } from 'typebox';
import type { SchemaRegistry } from './openapi-schemas.ts';
import type { JsonSchema, OpenApiParameter, Reference } from './openapi-types.ts';
import type { HeaderParameter, OperationSpec } from './operation.ts';

const organization = {
  name: 'X-Org',
  in: 'header',
  schema: { type: 'string' },
} as const;

export const sharedParameters: Readonly<Record<string, OpenApiParameter>> = {
  CorrelationId: {
    name: 'X-Correlation-Id',
    in: 'header',
    required: false,
    description:
      'At most 128 printable ASCII characters; comes back as X-Request-Id and stands in the audit event.',
    schema: { type: 'string', maxLength: 128 },
  },
  Organization: {
    ...organization,
    required: true,
    description: 'The id of the organization to act in.',
  },
  OrganizationIfSeveral: {
    ...organization,
    required: false,
    description:
      'The id of the organization to act in. A key or an agent acts in its own; a person needs it only when they belong to several.',
  },
};

/** The contract is written for the default brand; a white-labelled service has its own name in the header. */
const confirmHeader = 'X-Service-Confirm';

export function parametersOf(
  operation: OperationSpec,
  schemas: SchemaRegistry,
  brand: string,
): (OpenApiParameter | Reference)[] {
  return [
    ...objectParameters('path', operation.params, schemas),
    ...objectParameters('query', operation.query, schemas),
    ...organizationParameter(operation),
    ...(operation.headers ?? []).map((header) => headerParameter(header, brand)),
    { $ref: '#/components/parameters/CorrelationId' },
  ];
}

function objectParameters(
  place: 'path' | 'query',
  object: TObject | undefined,
  schemas: SchemaRegistry,
): OpenApiParameter[] {
  if (object === undefined) return [];
  const required = new Set(object.required);
  return Object.entries(object.properties).map(([name, property]) => {
    const { description, ...schema }: JsonSchema = schemas.use(property);
    return {
      name,
      in: place,
      required: required.has(name),
      ...(description === undefined ? {} : { description }),
      schema,
    };
  });
}

function organizationParameter({ org }: OperationSpec): Reference[] {
  if (org === 'header') return [{ $ref: '#/components/parameters/Organization' }];
  if (org === 'principal') return [{ $ref: '#/components/parameters/OrganizationIfSeveral' }];
  return [];
}

function headerParameter(header: HeaderParameter, brand: string): OpenApiParameter {
  const name = header.name === confirmHeader ? `X-${capital(brand)}-Confirm` : header.name;
  return {
    name,
    in: 'header',
    required: header.required,
    description: header.description,
    schema: { type: 'string' },
  };
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
