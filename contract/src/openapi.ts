import { exampleOf } from './openapi-examples.ts';
import { parametersOf, sharedParameters } from './openapi-parameters.ts';
import { responseHeaders, responsesOf, sharedResponses } from './openapi-responses.ts';
import { createSchemaRegistry, type SchemaRegistry } from './openapi-schemas.ts';
import { securityOf, securitySchemes } from './openapi-security.ts';
import type { JsonSchema, OpenApiDocument, OpenApiOperation, RequestMediaTypes } from './openapi-types.ts';
import type { OperationSpec, UploadSpec } from './operation.ts';
import { tagTable } from './tags.ts';

export interface OpenApiOptions {
  readonly operations: readonly OperationSpec[];
  /** With the base path, for example http://localhost:8080/api/v1 */
  readonly serverUrl: string;
  readonly version: string;
  readonly brand: string;
}

const description = `All paths are relative to the server’s address. Bodies are JSON and closed: an unknown member is answered with 400. Files are uploaded as \`multipart/form-data\` in the field \`file\`.

**Credentials.** Send an API key or an agent’s credential as \`Authorization: Bearer <token>\`; browsers use their session cookie.

**Organization.** Most operations act in one organization: the one in the path, the one in \`X-Org\`, or the credential’s own.

**Values.** Ids are ULIDs: 26 characters, upper case. Times are RFC 3339 in UTC with milliseconds. Localized text is a map from locale to text.

**Lists.** Answered as \`{items, total}\`, 50 at a time unless \`limit\` says otherwise, 200 at most; \`offset\` goes on. Audit events have a cursor instead.

**Errors.** One body for all of them: \`{message, code, error_code, correlationId}\`. The code decides the status and never means two things.

**Retries.** Send \`Idempotency-Key\` with entity actions: at most one command per key. \`outcome_unknown\` is never repeated by the service; look before you retry.

**Correlation.** Every answer carries \`X-Request-Id\`. The same value stands in error bodies, action results and audit events.`;

/** Pure and stable: the same operations give the same document, member for member. */
export function buildOpenApi({ operations, serverUrl, version, brand }: OpenApiOptions): OpenApiDocument {
  const schemas = createSchemaRegistry();
  const paths = pathsOf(operations, schemas, brand);
  const responses = sharedResponses(operations, schemas);
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Lintel API',
      version,
      summary: 'Open physical access control for people and for agents.',
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl, description: 'This service' }],
    tags: tagsOf(operations),
    paths,
    components: {
      schemas: schemas.components(),
      parameters: sharedParameters,
      headers: responseHeaders,
      responses,
      securitySchemes: securitySchemes(brand),
    },
  };
}

function tagsOf(operations: readonly OperationSpec[]): OpenApiDocument['tags'] {
  const names = new Set(operations.map(({ tag }) => tag));
  return [...names].map((name) => {
    const text = tagTable[name];
    if (text === undefined) throw new Error(`tag ${name} has no description in tags.ts`);
    return { name, description: text };
  });
}

function pathsOf(
  operations: readonly OperationSpec[],
  schemas: SchemaRegistry,
  brand: string,
): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  const ids = new Set<string>();
  for (const operation of operations) {
    const { id, path } = operation;
    const method = operation.method.toLowerCase();
    if (ids.has(id)) throw new Error(`two operations have the id ${id}`);
    ids.add(id);
    paths[path] ??= {};
    if (paths[path][method]) throw new Error(`two operations are bound to ${operation.method} ${path}`);
    paths[path][method] = describeOperation(operation, schemas, brand);
  }
  return paths;
}

function describeOperation(
  operation: OperationSpec,
  schemas: SchemaRegistry,
  brand: string,
): OpenApiOperation {
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: securityOf(operation.auth),
    parameters: parametersOf(operation, schemas, brand),
    ...requestBody(operation, schemas),
    responses: responsesOf(operation, schemas),
    'x-required-role': operation.role,
    ...(operation.buildingRoles ? { 'x-building-roles': true } : {}),
    'x-agents': operation.agents,
    'x-audit-event': operation.audit,
  };
}

function requestBody(
  { body, upload }: OperationSpec,
  schemas: SchemaRegistry,
): Pick<OpenApiOperation, 'requestBody'> {
  if (upload !== undefined) return { requestBody: { required: true, content: uploadForm(upload) } };
  if (body === undefined) return {};
  const schema = schemas.use(body);
  const example = exampleOf(schema, schemas.resolve);
  return { requestBody: { required: true, content: { 'application/json': { schema, example } } } };
}

function uploadForm({ maxBytes, mediaTypes }: UploadSpec): RequestMediaTypes {
  const file: JsonSchema = {
    type: 'string',
    format: 'binary',
    description: `At most ${maxBytes / 1_048_576} MiB of ${mediaTypes.join(', ')}.`,
  };
  return {
    'multipart/form-data': {
      schema: { type: 'object', properties: { file }, required: ['file'], additionalProperties: false },
      encoding: { file: { contentType: mediaTypes.join(', ') } },
    },
  };
}
