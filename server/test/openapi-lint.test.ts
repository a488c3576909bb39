// The document is judged by tools that know nothing of this repository: Redocly for OpenAPI, Ajv for JSON Schema 2020-12.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { buildOpenApi } from '@lintel/contract/openapi';
import { requestExamples } from '@lintel/contract/openapi-examples';
import { allOperations } from '@lintel/contract/operations';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('docs/generated/openapi.json passes `npm run lint:openapi`', () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'lint:openapi'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(status, stdout + stderr).toBe(0);
});

const document = buildOpenApi({
  operations: allOperations,
  serverUrl: 'http://localhost:8080/api/v1',
  version: '0.0.0',
  brand: 'service',
});

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  return ajv;
}

const described = createAjv().addSchema(document, 'document');
const declared = createAjv();

/** A JSON pointer into the document, escaped as a fragment of its address. */
function pointerTo(...steps: readonly string[]): string {
  const escaped = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
  return `document#/${escaped.join('/')}`;
}

const bodies = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, operation]) => {
    const spec = allOperations.find(({ id }) => id === operation.operationId);
    const media = operation.requestBody?.content['application/json'];
    if (spec?.body === undefined || media === undefined) return [];
    const pointer = pointerTo('paths', path, method, 'requestBody', 'content', 'application/json', 'schema');
    return [{ id: spec.id, body: spec.body, example: media.example, pointer }];
  }),
);

const strangers: readonly unknown[] = [null, '', 'x', 7, -1, 1.5, true, [], [7], {}, { a: 1 }, { a: ['x'] }];

/** The example itself, and versions of it with one thing wrong or merely different. */
function variantsOf(example: unknown, members: readonly string[]): unknown[] {
  if (typeof example !== 'object' || example === null) return [example, ...strangers];
  const changed = members.flatMap((name) => strangers.map((stranger) => ({ ...example, [name]: stranger })));
  const reduced = Object.keys(example).map((name) => ({ ...example, [name]: undefined }));
  return [example, { ...example, unknown_member: 1 }, ...changed, ...reduced, ...strangers];
}

describe.each(bodies)('the request body of $id', ({ body, example, pointer }) => {
  const validateDescribed = described.compile({ $ref: pointer });
  const validateDeclared = declared.compile(body);

  test('has a valid example', () => {
    expect(validateDescribed(example), JSON.stringify(validateDescribed.errors)).toBe(true);
  });

  test('is described as strictly as the service checks it', () => {
    const members = Object.keys(Object(Reflect.get(body, 'properties')));
    for (const variant of variantsOf(example, members)) {
      const value: unknown = JSON.parse(JSON.stringify(variant));
      expect(validateDescribed(value), JSON.stringify(value)).toBe(validateDeclared(value));
    }
  });
});

test('every component is a valid schema', () => {
  for (const name of Object.keys(document.components.schemas)) {
    expect(() => described.compile({ $ref: pointerTo('components', 'schemas', name) }), name).not.toThrow();
  }
  const ajv = createAjv();
  expect(ajv.validateSchema({ type: 'strnig' })).toBe(false);
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    expect(ajv.validateSchema({ ...schema }), name).toBe(true);
  }
});

test('every written example belongs to a request body', () => {
  const titles = bodies.map(({ body }) => Reflect.get(body, 'title'));
  expect(Object.keys(requestExamples).filter((title) => !titles.includes(title))).toEqual([]);
});
