import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalLocale, cleanText, parseLocalizedText, pickText } from './text.ts';

const limit = { maxLength: 120 };
const options = { defaultLocale: 'de', maxLength: 120 };

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

describe('cleanText', () => {
  it.each([
    ['  Front door  ', 'Front door'],
    ['\u00a0Tür\u3000', 'Tür'],
    ['Tu\u0308r', 'Tür'],
    ['門 1', '門 1'],
    ['باب', 'باب'],
    ['दरवाज़ा', 'दरवाज़ा'.normalize('NFC')],
    ['❤️ 🚪', '❤️ 🚪'],
    ['<script>', '<script>'],
  ])('accepts %j', (input, text) => {
    expect(cleanText(input, limit)).toEqual({ ok: true, text });
  });

  it.each([
    ['control character', [...range(0x00, 0x1f), ...range(0x7f, 0x9f), 0x2028, 0x2029]],
    ['bidirectional control', [0x061c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)]],
    ['zero-width', [0x00ad, 0x034f, 0x180e, 0x200b, 0x200c, 0x200d, ...range(0x2060, 0x2064), 0xfeff]],
    ['zero-width', [0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0]],
    ['tag character', range(0xe0000, 0xe007f)],
    ['lone surrogate', range(0xd800, 0xdfff)],
  ])('refuses every %s at the start, inside and at the end', (name, codePoints) => {
    for (const codePoint of codePoints) {
      const character = String.fromCodePoint(codePoint);
      for (const input of [`${character}door`, `do${character}or`, `door${character}`, character]) {
        expect(cleanText(input, limit)).toEqual({ ok: false, reason: expect.stringContaining(name) });
      }
    }
  });

  it.each(['', '   ', '\u00a0\u3000'])('refuses %j as empty', (input) => {
    expect(cleanText(input, limit)).toEqual({ ok: false, reason: expect.stringContaining('empty') });
  });

  it('counts code points after normalization and trimming', () => {
    expect(cleanText(` ${'🚪'.repeat(120)} `, limit).ok).toBe(true);
    expect(cleanText('u\u0308'.repeat(120), limit).ok).toBe(true);
    expect(cleanText('x'.repeat(121), limit)).toEqual({ ok: false, reason: expect.stringContaining('120') });
    expect(cleanText('🚪'.repeat(121), limit).ok).toBe(false);
  });

  it('gives text that it accepts again unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (input) => {
        const first = cleanText(input, limit);
        if (!first.ok) return;
        expect(cleanText(first.text, limit)).toEqual(first);
        expect(first.text).toBe(first.text.normalize('NFC').trim());
        expect(first.text).not.toMatch(/[\p{Cc}\p{Cs}\p{Bidi_Control}\u{E0000}-\u{E007F}]/u);
      }),
      { numRuns: 2000 },
    );
  });

  it('accepts every printable ASCII text that is not blank', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 120 }), (input) => {
        const text = input.trim();
        fc.pre(text !== '');
        expect(cleanText(input, limit)).toEqual({ ok: true, text });
      }),
    );
  });
});

describe('canonicalLocale', () => {
  it.each([
    ['en', 'en'],
    ['EN', 'en'],
    ['de-at', 'de-AT'],
    ['zh-hant', 'zh-Hant'],
    ['ZH-HANT-tw', 'zh-Hant-TW'],
    ['es-419', 'es-419'],
    ['gsw-CH', 'gsw-CH'],
    ['sl-rozaj-BISKE-1994', 'sl-rozaj-biske-1994'],
  ])('writes %s as %s', (input, expected) => {
    expect(canonicalLocale(input)).toBe(expected);
  });

  it.each([
    '',
    'e',
    'value',
    'english',
    'de_AT',
    'de-',
    '-de',
    'de--AT',
    'de-A',
    'de AT',
    'de\n',
    'dé',
    'x-private',
    '12',
  ])('refuses %j', (input) => {
    expect(canonicalLocale(input)).toBeNull();
  });

  it('refuses a tag longer than any real one', () => {
    expect(canonicalLocale(`de${'-variant1'.repeat(4)}`)).toBeNull();
  });

  it('agrees with the case Intl gives to language, script and region', () => {
    const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');
    const letters = (length: number) =>
      fc.array(letter, { minLength: length, maxLength: length }).map((list) => list.join(''));
    fc.assert(
      fc.property(letters(2), fc.option(letters(4)), fc.option(letters(2)), (language, script, region) => {
        const text = [language, script, region].filter((subtag) => subtag !== null).join('-');
        // toLowerCase on both sides of an alias such as iw → he would differ: only the casing is compared.
        const expected = Intl.getCanonicalLocales(text)[0] ?? '';
        fc.pre(expected.toLowerCase() === text.toLowerCase());
        expect(canonicalLocale(text)).toBe(expected);
      }),
    );
  });
});

describe('parseLocalizedText', () => {
  it.each([
    ['a plain string under the default locale', ' Tür ', { de: 'Tür' }],
    ['a bare map', { en: 'Door', 'de-at': 'Tür' }, { en: 'Door', 'de-AT': 'Tür' }],
    ['the value wrapper', { value: { en: 'Door', 'zh-Hant': '門' } }, { en: 'Door', 'zh-Hant': '門' }],
  ])('reads %s', (_name, input, value) => {
    expect(parseLocalizedText(input, options)).toEqual({ ok: true, value });
  });

  it.each([
    ['an empty string', '  ', '', 'empty'],
    ['null', null, '', 'text or a map'],
    ['a number', 5, '', 'text or a map'],
    ['an array', ['Door'], '', 'text or a map'],
    ['an empty map', {}, '', 'at least one locale'],
    ['an empty wrapper', { value: {} }, '/value', 'at least one locale'],
    ['a wrapped string', { value: 'Door' }, '/value', 'map of locale'],
    ['a wrapped null', { value: null }, '/value', 'map of locale'],
    ['a nested wrapper', { value: { value: { en: 'Door' } } }, '/value/value', 'BCP 47'],
    ['a wrapper beside a locale', { value: { en: 'Door' }, en: 'Door' }, '/value', 'BCP 47'],
    ['a bad locale', { 'en/US~x': 'Door' }, '/en~1US~0x', 'BCP 47'],
    ['a text that is no string', { en: 'Door', de: 1 }, '/de', 'must be a text'],
    ['a refused character', { value: { en: 'Do\u202eor' } }, '/value/en', 'bidirectional'],
    ['one empty text', { en: 'Door', de: '' }, '/de', 'empty'],
    ['a locale spelt twice', { 'de-AT': 'Tür', 'de-at': 'Tor' }, '/de-at', 'twice'],
    ['a text over the limit', { en: 'x'.repeat(121) }, '/en', '120'],
    ['a __proto__ member', JSON.parse('{"__proto__":"x"}'), '/__proto__', 'BCP 47'],
    ['a constructor member', { constructor: 'x' }, '/constructor', 'BCP 47'],
  ])('refuses %s with its path', (_name, input, path, word) => {
    expect(parseLocalizedText(input, options)).toEqual({
      ok: false,
      path,
      reason: expect.stringContaining(word),
    });
  });

  it('refuses more locales than any building needs', () => {
    const locales = [...'abcdefghij'].flatMap((a) => [...'abcdefghij'].map((b) => a + b));
    const map = (count: number) => Object.fromEntries(locales.slice(0, count).map((locale) => [locale, 'x']));
    expect(parseLocalizedText(map(64), options).ok).toBe(true);
    expect(parseLocalizedText(map(65), options).ok).toBe(false);
  });

  it('accepts its own output again, bare or wrapped, and never throws', () => {
    const locale = fc.constantFrom('en', 'de', 'de-AT', 'zh-hant', 'value', '__proto__', '');
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.integer());
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.dictionary(locale, text)), (input) => {
        const result = parseLocalizedText(input, options);
        if (!result.ok) return;
        expect(parseLocalizedText(result.value, options)).toEqual(result);
        expect(parseLocalizedText({ value: result.value }, options)).toEqual(result);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('pickText', () => {
  const map = { 'zh-Hant': 'Z', en: 'E', 'de-AT': 'A', 'de-CH': 'C', fr: 'F' };

  it.each([
    ['exact', 'de-AT', 'A'],
    ['whatever the case', 'DE-at', 'A'],
    ['less specific', 'fr-CA', 'F'],
    ['less specific by two', 'zh-Hant-TW', 'Z'],
    ['a sibling of the language', 'de', 'A'],
    ['a sibling region', 'de-DE', 'A'],
    ['English for an absent language', 'it', 'E'],
    ['English for nonsense', 'toString', 'E'],
  ])('takes %s', (_name, locale, expected) => {
    expect(pickText(map, locale)).toBe(expected);
  });

  it('takes the first by name when there is no English, whatever the order of the map', () => {
    expect(pickText({ sv: 'S', fr: 'F' }, 'it')).toBe('F');
    expect(pickText({ fr: 'F', sv: 'S' }, 'it')).toBe('F');
  });

  it('gives an empty text for an empty map', () => {
    expect(pickText({}, 'en')).toBe('');
  });
});
