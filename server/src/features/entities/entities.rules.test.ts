import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editMetadata, mergeMetadata, parseEntityName } from './entities.rules.ts';

const name = fc.string({ maxLength: 10 }).filter((text) => text !== '__proto__');
const texts = fc.dictionary(name, fc.string({ maxLength: 20 }), { maxKeys: 5 }).map((map) => ({ ...map }));
const values = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 }).map((map) => ({ ...map }));

describe('metadata of an entity', () => {
  it('keeps texts and turns everything else into its JSON text', () => {
    const metadata = { a: 'x', b: 1, c: true, d: { e: [null] }, f: null, constructor: '' };
    expect(editMetadata({}, { metadata })).toEqual({
      a: 'x',
      b: '1',
      c: 'true',
      d: '{"e":[null]}',
      constructor: '',
    });
  });

  it('is kept, cleared or replaced as a whole', () => {
    const before = { a: '1' };
    expect(editMetadata(before, {})).toEqual(before);
    expect(editMetadata(before, { metadata: null })).toEqual({});
    expect(editMetadata(before, { metadata: { b: 2 } })).toEqual({ b: '2' });
  });

  it('holds the channel, which wins over a member of that name', () => {
    const before = { a: '1', channel_index: '3' };
    expect(editMetadata(before, { channelIndex: 0 })).toEqual({ a: '1', channel_index: '0' });
    expect(editMetadata(before, { channelIndex: null })).toEqual({ a: '1' });
    expect(editMetadata(before, { metadata: {} })).toEqual({});
    expect(editMetadata(before, { metadata: { channel_index: '4' }, channelIndex: 5 })).toEqual({
      channel_index: '5',
    });
  });

  it('has text values only, whatever comes', () => {
    fc.assert(
      fc.property(texts, values, (before, metadata) => {
        const all = [editMetadata(before, { metadata }), mergeMetadata(before, metadata)];
        for (const value of all.flatMap((each) => Object.values(each))) expect(value).toBeTypeOf('string');
      }),
    );
  });

  it('is merged member by member: what is named is as given, the rest as before', () => {
    fc.assert(
      fc.property(texts, values, (before, patch) => {
        const named = editMetadata({}, { metadata: patch });
        const others = Object.entries(before).filter(([key]) => !Object.hasOwn(patch, key));
        expect(mergeMetadata(before, patch)).toEqual({ ...Object.fromEntries(others), ...named });
      }),
    );
  });

  it('stays small', () => {
    expect(() => editMetadata({}, { metadata: { a: 'x'.repeat(17_000) } })).toThrow(/metadata/);
    expect(() => mergeMetadata({ a: 'x'.repeat(9_000) }, { b: 'x'.repeat(9_000) })).toThrow(/metadata/);
  });
});

it.each([
  [null, null],
  ['', null],
  [' \t', null],
  [' Door ', 'Door'],
])('%j as the name of an entity is %j', (input, wanted) => {
  expect(parseEntityName(input)).toBe(wanted);
});
