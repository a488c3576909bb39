import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { AppError } from '../kernel/app-error.ts';
import { requireFittingExternalId, requireFittingMetadata } from './record-rules.ts';

const schema = Type.Object(
  { topic: Type.String({ minLength: 1 }), channel_index: Type.Optional(Type.String({ pattern: '^[0-7]$' })) },
  { additionalProperties: false },
);

function problemOf(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error instanceof AppError ? [error.code, error.details?.[0]?.path] : error;
  }
  return null;
}

const check = (metadata: Record<string, unknown>) =>
  problemOf(() => requireFittingMetadata(schema, metadata, '/metadata'));

describe('metadata by the rules of a provider', () => {
  it.each([{ topic: 'a' }, { topic: 'a', channel_index: '7' }, { topic: 'a', kind: 'x', auto_close: '5' }])(
    'fits: %j',
    (metadata) => {
      expect(check(metadata)).toBeNull();
    },
  );

  it.each([
    [{}, '/metadata/topic'],
    [{ topic: '' }, '/metadata/topic'],
    [{ topic: 'a', 'a/b': 'x' }, '/metadata/a~1b'],
    [{ topic: 'a', constructor: 'x' }, '/metadata/constructor'],
    // Declared by the provider, so its own rule holds.
    [{ topic: 'a', channel_index: '8' }, '/metadata/channel_index'],
  ])('does not fit: %j', (metadata, path) => {
    expect(check(metadata)).toEqual(['validation_error', path]);
  });
});

describe('an external id by the rules of a provider', () => {
  it.each([
    ['required', 'x', null],
    ['required', null, ['validation_error', '/external_id']],
    ['optional', 'x', null],
    ['optional', null, null],
    ['refused', 'x', ['validation_error', '/external_id']],
    ['refused', null, null],
  ] as const)('%s, given %s', (rule, externalId, problem) => {
    expect(problemOf(() => requireFittingExternalId(rule, externalId))).toEqual(problem);
  });
});
