import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDuplicateMember } from './json-duplicates.ts';

describe('findDuplicateMember', () => {
  it.each([
    ['{"a":1,"a":2}', '/a'],
    ['{"a":1,"\\u0061":2}', '/a'],
    ['{"a":{"b":1,"c":"b","b":2}}', '/a/b'],
    ['[{"a":1},{"a":1,"x":[1,2],"a":2}]', '/1/a'],
    ['[0,[1,{"k":[],"k":{}}]]', '/1/1/k'],
    ['{"a/b":1,"a/b":2}', '/a~1b'],
    ['{"":1,"":2}', '/'],
    ['{"__proto__":1,"__proto__":2}', '/__proto__'],
    [' { "a" : 1 , "a" : 2 } ', '/a'],
  ])('points to the second one in %s', (text, path) => {
    expect(findDuplicateMember(text)).toBe(path);
  });

  it.each([
    '{"a":1,"b":1}',
    '{"a":"a","b":"a"}',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":["a","a"],"b":"{\\"a\\":1,\\"a\\":2}"}',
    '"a"',
    '1',
    '[]',
    '{}',
  ])('finds nothing in %s', (text) => {
    expect(findDuplicateMember(text)).toBeNull();
  });

  it('finds nothing in what JSON.stringify wrote', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
        expect(findDuplicateMember(JSON.stringify(value, null, indent))).toBeNull();
      }),
    );
  });

  it('finds any member that is written a second time, at any depth', () => {
    const name = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 5 }),
        name,
        fc.array(name, { maxLength: 5 }),
        (rest, key, path) => {
          const members = Object.entries({ ...rest, [key]: 1 }).map(
            ([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`,
          );
          const twice = `{${[...members, `${JSON.stringify(key)}:2`].join(',')}}`;
          const text = path.reduceRight((inner, step) => `{${JSON.stringify(step)}:${inner}}`, twice);
          expect(findDuplicateMember(text)).not.toBeNull();
        },
      ),
    );
  });
});
