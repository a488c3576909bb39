// What must hold for every script: whatever is written somewhere is found again there.
import { resolve } from 'node:path';
import { compile, run } from '@lintel/script/script';
import { toJson } from '@lintel/script/values/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toLiteral } from './literal.ts';
import { preprocess } from './preprocess.ts';
import type { FileReader } from './read-files.ts';
import { scan } from './scan.ts';
import { lineColumnAt, offsetAt } from './source-place.ts';

/** Lines that the preprocessor may stumble over; `@` is replaced by a mark that exists once. */
const harmless = fc.constantFrom(
  '@;',
  '  @ + "text 🚪"; @;',
  `\t\`back\ntick \${ @ } \\\${\`; @`,
  '// include "f0" @',
  '/* @ /* nested */\ninclude "f0"\n*/ @',
  '#"raw " @\nload_json "x" as y\n"#; @',
  '"🚪 \\" @"; \'"\'; @',
  '',
  '@ {{KEY}} @',
  '"{{KEY}}"; @\r',
  '#{ a: #{ b: @ }}',
);

interface Drawn {
  readonly line: string;
  /** The number of a later file, which keeps the includes free of cycles. */
  readonly include: number | null;
}

const drawnLine = fc.record({
  line: harmless,
  include: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 3 }),
});
const drawnFiles = fc.array(fc.array(drawnLine, { maxLength: 6 }), { minLength: 1, maxLength: 4 });

function writeFiles(drawn: readonly (readonly Drawn[])[]): Map<string, string> {
  let marks = 0;
  const mark = (line: string) => line.replaceAll('@', () => `m${marks++}`);
  return new Map(
    drawn.map((lines, index) => {
      const text = lines.flatMap(({ line, include }) => {
        const target = include === null ? null : index + include;
        const statement = target !== null && target < drawn.length ? [`  include "f${target}";`] : [];
        return [mark(line), ...statement];
      });
      return [`/site/f${index}.openapp`, text.join('\n')];
    }),
  );
}

function preprocessFiles(files: ReadonlyMap<string, string>, values: Record<string, string>) {
  const reader: FileReader = (path) => ({ path, name: path, text: files.get(path) ?? '' });
  const path = resolve('/site/f0.openapp');
  return preprocess({
    entry: { path, name: path, text: files.get(path) ?? '' },
    values: new Map(Object.entries(values)),
    files: reader,
  });
}

const value = fc.constantFrom('', 'v', 'several\nlines', '🚪', '{{KEY}}');

describe('every mark', () => {
  it('of every file is located where it was written', () => {
    fc.assert(
      fc.property(drawnFiles, value, (drawn, key) => {
        const files = writeFiles(drawn);
        const { text, locate } = preprocessFiles(files, { KEY: key });
        for (const match of text.matchAll(/\bm\d+\b/g)) {
          const located = locate(lineColumnAt(text, match.index));
          const source = files.get(located.name) ?? '';
          const at = source.search(new RegExp(`\\b${match[0]}\\b`));
          expect(located).toMatchObject({ ...lineColumnAt(source, at), insteadOf: null });
        }
      }),
      { numRuns: 300 },
    );
  });

  it('of an included file is there as often as the file is included', () => {
    fc.assert(
      fc.property(drawnFiles, (drawn) => {
        const files = writeFiles(drawn);
        const { text } = preprocessFiles(files, { KEY: '' });
        const times = inclusionCounts(drawn);
        files.forEach((source, path) => {
          const index = Number(/f(\d+)/.exec(path)?.[1]);
          for (const [mark] of source.matchAll(/\bm\d+\b/g))
            expect(text.match(new RegExp(`\\b${mark}\\b`, 'g'))?.length ?? 0).toBe(times[index]);
        });
      }),
      { numRuns: 300 },
    );
  });
});

function inclusionCounts(drawn: readonly (readonly Drawn[])[]): number[] {
  const counts = drawn.map((_, index): number => (index === 0 ? 1 : 0));
  drawn.forEach((lines, index) => {
    for (const { include } of lines) {
      const target = index + (include ?? drawn.length);
      if (target < drawn.length) counts[target] = (counts[target] ?? 0) + (counts[index] ?? 0);
    }
  });
  return counts;
}

describe('any text', () => {
  const anyText = fc
    .array(
      fc.constantFrom(
        '"',
        "'",
        '`',
        '${',
        '}',
        '{',
        '#"',
        '"#',
        '/*',
        '*/',
        '//',
        '\n',
        '\\',
        'a',
        '🚪',
        '\r',
      ),
    )
    .map((parts) => parts.join(''));

  it('is covered by regions without gaps', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { regions } = scan(text);
        expect(regions.map(({ start, end }) => text.slice(start, end)).join('')).toBe(text);
        for (const [index, { kind }] of regions.entries()) expect(kind).not.toBe(regions[index - 1]?.kind);
      }),
    );
  });

  it('without directives and placeholders stays as it is, and so does every place in it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const result = preprocessFiles(new Map([['/site/f0.openapp', text]]), {});
        expect(result.text).toBe(text);
        for (let offset = 0; offset <= text.length; offset += 1) {
          if (/[\udc00-\udfff]/.test(text.charAt(offset))) continue;
          const place = lineColumnAt(text, offset);
          expect(offsetAt(text, place)).toBe(offset);
          expect(result.locate(place)).toMatchObject(place);
        }
      }),
    );
  });
});

describe('a literal', () => {
  it('reads as the data it was made of', async () => {
    const data = fc
      .jsonValue({ maxDepth: 4, noUnicodeString: false })
      .map((json) => JSON.parse(JSON.stringify(json)));
    await fc.assert(
      fc.asyncProperty(data, async (json) => {
        const { value: result } = await run(compile(toLiteral(json)));
        expect(JSON.parse(JSON.stringify(toJson(result)))).toEqual(JSON.parse(JSON.stringify(json)));
      }),
      { numRuns: 300 },
    );
  });
});
