import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, sha256Canonical } from './canonical-json.ts';
import { Secret } from './secret.ts';

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function numberFromBits(bits: string): number {
  return Buffer.from(bits, 'hex').readDoubleBE(0);
}

/** Orders keys by their big-endian UTF-16 bytes: the RFC's definition, independent of JavaScript's string comparison. */
function oracle(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oracle).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const utf16 = (text: string) => Buffer.from(text, 'utf16le').swap16();
  const members = Object.entries(value).sort(([a], [b]) => Buffer.compare(utf16(a), utf16(b)));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${oracle(member)}`).join(',')}}`;
}

function withReversedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReversedKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, withReversedKeys(member)]),
  );
}

const anyJson = fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 });

describe('canonicalJson', () => {
  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the number %s of RFC 8785 appendix B as %s', (bits, expected) => {
    expect(canonicalJson(numberFromBits(bits))).toBe(expected);
  });

  it('writes the example of RFC 8785 3.2.2', () => {
    const input: unknown = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
        String.raw`"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    );
    expect(canonicalJson(input)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it('orders the keys of RFC 8785 3.2.3 by UTF-16 code unit', () => {
    const input = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(canonicalJson(input)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
        '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  it('orders integer-like keys as text, which is not the order an engine enumerates them in', () => {
    expect(canonicalJson({ 9: 1, 10: 2, a: 3 })).toBe('{"10":2,"9":1,"a":3}');
  });

  it('keeps an own member called __proto__', () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}'))).toBe('{"__proto__":{"a":2},"b":1}');
  });

  it('leaves out members that are undefined and reads objects without a prototype', () => {
    const bare: Record<string, unknown> = Object.create(null);
    bare.a = undefined;
    bare.b = { c: undefined };
    bare.d = 1;
    expect(canonicalJson(bare)).toBe('{"b":{},"d":1}');
  });

  it('equals an independent implementation over random JSON', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalJson(value)).toBe(oracle(value));
      }),
    );
  });

  it('loses nothing: parsing it gives the value back', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('does not depend on the order of insertion', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalJson(withReversedKeys(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it.each([
    ['undefined', undefined],
    ['undefined in an array', [undefined]],
    ['a hole in an array', new Array(1)],
    ['NaN', Number.NaN],
    ['Infinity', { a: Number.POSITIVE_INFINITY }],
    ['a bigint', 1n],
    ['a symbol', Symbol('s')],
    ['a function', { a: () => 1 }],
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['a Buffer', Buffer.from('a')],
    ['a boxed number', Object(1)],
    ['a Secret', { token: new Secret('s') }],
    ['a lone high surrogate', '\ud800'],
    ['a lone low surrogate', ['a\udc00b']],
    ['a lone surrogate in a key', { '\ud800': 1 }],
  ])('throws a TypeError for %s', (_name, value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });

  it('writes depth 32 and more, and answers a cycle or a 10^5-deep value with a TypeError', () => {
    expect(JSON.parse(canonicalJson(nested(32)))).toEqual(nested(32));
    expect(JSON.parse(canonicalJson(nested(64)))).toEqual(nested(64));
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect(() => canonicalJson(cyclic)).toThrow(TypeError);
    expect(() => canonicalJson(nested(100_000))).toThrow(TypeError);
  });
});

describe('sha256Canonical', () => {
  it('hashes the UTF-8 bytes of the canonical text', () => {
    expect(sha256Canonical({}).toString('hex')).toBe(
      '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    );
    expect(sha256Canonical({ b: 'ö', a: 1 })).toEqual(sha256Canonical({ a: 1, b: 'ö' }));
    expect(sha256Canonical({ a: 1 })).not.toEqual(sha256Canonical({ a: 2 }));
  });
});
