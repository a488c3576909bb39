import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { Closed, Response } from './common.ts';
import { buildOpenApi } from './openapi.ts';
import type { OpenApiDocument, OpenApiOperation } from './openapi-types.ts';
import { defineOperation, errorsOf, type OperationSpec } from './operation.ts';
import { allOperations } from './operations.ts';

const serverUrl = 'https://doors.example.org/api/v1';

function build(operations: readonly OperationSpec[] = allOperations, brand = 'service'): OpenApiDocument {
  return buildOpenApi({ operations, serverUrl, version: '1.2.3', brand });
}

function operationsIn(document: OpenApiDocument) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

function find(document: OpenApiDocument, id: string): OpenApiOperation {
  const found = operationsIn(document).find(({ operation }) => operation.operationId === id);
  if (found === undefined) throw new Error(`${id} is not in the document`);
  return found.operation;
}

/** Follows a reference through the document itself, as any reader of it would. */
function follow(document: OpenApiDocument, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new Error(`nothing there: ${String(value)}`);
  if (!('$ref' in value)) return value as Record<string, unknown>;
  const steps = String(value.$ref).replace('#/', '').split('/');
  return follow(
    document,
    steps.reduce<unknown>((at, step) => Reflect.get(Object(at), step), document),
  );
}

function parameterNames(document: OpenApiDocument, id: string, isRequired?: boolean): unknown[] {
  return find(document, id)
    .parameters.map((parameter) => follow(document, parameter))
    .filter(({ required }) => isRequired === undefined || required === isRequired)
    .map(({ name }) => name);
}

function everyNode(value: unknown, visit: (node: object) => void): void {
  if (typeof value !== 'object' || value === null) return;
  visit(value);
  for (const part of Object.values(value)) everyNode(part, visit);
}

const sample = defineOperation({
  id: 'sample',
  method: 'POST',
  path: '/sample',
  tag: 'Status',
  summary: 'Sample',
  auth: 'public',
  agents: false,
  org: 'none',
  role: { rule: 'anyone' },
  responses: { 200: Response('Sample', { size: Type.Integer() }) },
  errors: [],
  audit: null,
});

const document = build();

describe('the document as a whole', () => {
  test('every operation appears exactly once, at its method and path', () => {
    const listed = operationsIn(document).map(
      ({ path, method, operation }) => `${operation.operationId} ${method.toUpperCase()} ${path}`,
    );
    expect(listed.toSorted()).toEqual(
      allOperations.map(({ id, method, path }) => `${id} ${method} ${path}`).toSorted(),
    );
  });

  test('every reference resolves and every component is referred to', () => {
    const used = new Set<string>();
    everyNode(document, (node) => {
      if (!('$ref' in node)) return;
      expect(Object.keys(follow(document, node)), String(node.$ref)).not.toHaveLength(0);
      used.add(String(node.$ref));
    });
    const { securitySchemes: _, ...referable } = document.components;
    const declared = Object.entries(referable).flatMap(([kind, parts]) =>
      Object.keys(parts).map((name) => `#/components/${kind}/${name}`),
    );
    expect([...used].toSorted()).toEqual(declared.toSorted());
  });

  test('nothing of TypeBox itself is left', () => {
    const marks: string[] = [];
    everyNode(document, (node) => {
      marks.push(
        ...Reflect.ownKeys(node)
          .map(String)
          .filter((name) => name.startsWith('~')),
      );
    });
    expect(marks).toEqual([]);
  });

  test('the server is the one given and the same input gives the same text', () => {
    expect(document.servers.map(({ url }) => url)).toEqual([serverUrl]);
    expect(document.info.version).toBe('1.2.3');
    expect(JSON.stringify(build())).toBe(JSON.stringify(document));
  });

  test.each([
    ['id', { path: '/other' as const }],
    ['method and path', { id: 'other' }],
  ])('two operations with the same %s are refused', (_, change) => {
    expect(() => build([sample, { ...sample, ...change }])).toThrow(/two operations/);
  });

  test('a tag without a description is refused', () => {
    expect(() => build([{ ...sample, tag: 'Unheard of' }])).toThrow(/Unheard of/);
  });
});

describe('schemas', () => {
  const other = (schema: OperationSpec['body']): OperationSpec => ({
    ...sample,
    id: 'other',
    path: '/other',
    ...(schema === undefined ? {} : { body: schema }),
  });

  test('the same title with the same content is one component', () => {
    const built = build([sample, other(Closed('Sample', { size: Type.Integer() }))]);
    expect(Object.keys(built.components.schemas).toSorted()).toEqual(['ApiErrorResponse', 'Sample']);
  });

  test('the same title with other content is refused, even deep inside another schema', () => {
    const nested = Closed('Outer', { inner: Type.Array(Closed('Sample', { size: Type.String() })) });
    expect(() => build([sample, other(nested)])).toThrow(/two different schemas are titled Sample/);
  });

  test('every closed body stays closed and every required member stays required', () => {
    const bodies = allOperations.flatMap(({ id, body }) => (body === undefined ? [] : [{ id, body }]));
    expect(bodies.length).toBeGreaterThan(0);
    for (const { id, body } of bodies) {
      const described = follow(document, find(document, id).requestBody?.content['application/json']?.schema);
      expect(find(document, id).requestBody?.required, id).toBe(true);
      if (Reflect.get(body, 'type') !== 'object' || !Reflect.has(body, 'properties')) continue;
      expect(Reflect.get(body, 'additionalProperties'), id).toBe(false);
      expect(described.additionalProperties, id).toBe(false);
      expect(described.required, id).toEqual(Reflect.get(body, 'required'));
    }
  });

  test('a DELETE with a body describes it', () => {
    expect(find(document, 'delete_roles').requestBody?.content['application/json']?.schema).toEqual({
      $ref: '#/components/schemas/RoleMap',
    });
  });
});

describe('an operation', () => {
  test('errors are grouped by status: together exactly the codes of the operation, each named in the text', () => {
    for (const spec of allOperations) {
      const groups = Object.entries(find(document, spec.id).responses)
        .filter(([status]) => status !== 'default')
        .map(([, response]) => follow(document, response));
      const codes = groups.flatMap((group) => {
        const named = (group['x-error-codes'] ?? []) as string[];
        for (const code of named) expect(group.description).toContain(`\`${code}\``);
        return named;
      });
      expect(codes.toSorted(), spec.id).toEqual(errorsOf(spec));
    }
  });

  test('every error has the one error body and every answer its request id', () => {
    for (const { operation } of operationsIn(document)) {
      for (const [status, response] of Object.entries(operation.responses)) {
        const { headers, content } = follow(document, response);
        expect(headers, `${operation.operationId} ${status}`).toHaveProperty('X-Request-Id');
        if (status.startsWith('2')) continue;
        const schema = follow(document, follow(document, content)['application/json']).schema;
        expect(schema).toEqual({ $ref: '#/components/schemas/ApiErrorResponse' });
      }
    }
  });

  test('success responses are the declared ones, 204 without a body', () => {
    for (const spec of allOperations) {
      const responses = Object.entries(find(document, spec.id).responses);
      const successes = responses.filter(([status]) => status.startsWith('2'));
      expect(successes.map(([status]) => status)).toEqual(Object.keys(spec.responses));
      for (const [status, response] of successes) {
        expect('content' in response, spec.id).toBe(spec.responses[Number(status)] !== null);
      }
    }
  });

  test.each([
    ['get_backend_status', []],
    ['list_entities', [{ bearer: [] }, { api_key: [] }, { session: [] }]],
    ['redeem_invitation', [{ session: [] }]],
    ['get_auth_session', [{ session: [] }, { bearer: [] }, { api_key: [] }, {}]],
  ])('%s has the credentials of its kind', (id, security) => {
    expect(find(document, id).security).toEqual(security);
  });

  test.each([
    ['list_entities', true, true],
    ['create_api_key', true, false],
    ['get_org', false, false],
    ['get_me_profile', false, false],
  ])('X-Org follows from where %s takes its organization', (id, isTaken, isRequired) => {
    expect(parameterNames(document, id).includes('X-Org')).toBe(isTaken);
    expect(parameterNames(document, id, true).includes('X-Org')).toBe(isRequired);
  });

  test('every parameter in a path is described as required', () => {
    for (const { path, operation } of operationsIn(document)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = operation.parameters
        .map((parameter) => follow(document, parameter))
        .filter((parameter) => parameter.in === 'path' && parameter.required === true);
      expect(described.map(({ name }) => name).toSorted(), path).toEqual(named.toSorted());
    }
  });

  test('the confirm header carries the brand', () => {
    const branded = build(allOperations, 'acme');
    expect(parameterNames(document, 'execute_entity_action')).toContain('X-Service-Confirm');
    expect(parameterNames(branded, 'execute_entity_action')).toContain('X-Acme-Confirm');
    expect(JSON.stringify(branded)).not.toContain('X-Service-Confirm');
  });

  test('role, agents and audit event are the declared ones', () => {
    for (const spec of allOperations) {
      expect(find(document, spec.id)).toMatchObject({
        'x-required-role': spec.role,
        ...('buildingRoles' in spec ? { 'x-building-roles': true } : {}),
        'x-agents': spec.agents,
        'x-audit-event': spec.audit,
      });
    }
  });
});
