import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeOrigin, preprocess } from './preprocess.ts';
import { PreprocessError } from './preprocess-error.ts';
import type { FileReader } from './read-files.ts';

/** Files by their path below /site. */
function run(files: Record<string, string>, values: Record<string, string> = {}, entry = 'main.openapp') {
  const reader: FileReader = (path) => {
    const name = path.replace('/site/', '');
    const text = files[name];
    return text === undefined ? { name, problem: 'no such file' } : { path, name, text };
  };
  return preprocess({
    entry: { path: resolve('/site', entry), name: entry, text: files[entry] ?? '' },
    values: new Map(Object.entries(values)),
    files: reader,
  });
}

/** What is said, and where: `message @ file:line:column`. */
function faultsOf(
  files: Record<string, string>,
  values: Record<string, string> = {},
  entry?: string,
): string[] {
  try {
    run(files, values, entry);
  } catch (error) {
    if (!(error instanceof PreprocessError)) throw error;
    return error.faults.map(({ message, at }) => {
      const place = at === null ? null : describeOrigin(at);
      return `${message} @ ${place?.name}:${place?.line}:${place?.column}`;
    });
  }
  throw new Error('it was accepted');
}

describe('include', () => {
  it('puts the file in the place of the statement and shares its scope', () => {
    const { text } = run({ 'main.openapp': 'let a = 1;\ninclude "lib"\nb', 'lib.openapp': 'let b = a;\n' });
    expect(text).toBe('let a = 1;\nlet b = a;\n\nb');
  });

  it('looks for the path beside the including file and adds the extension where another one or none stands', () => {
    const files = {
      'main.openapp': 'include "parts/doors"',
      'parts/doors.openapp': 'include "more.v2"; // the newer one',
      'parts/more.v2.openapp': 'include "../top.openapp"',
      'top.openapp': '1',
    };
    expect(run(files).text).toContain('1\n');
  });

  it('includes a file as often as it is written', () => {
    const { text } = run({ 'main.openapp': 'include "n"\ninclude "n"', 'n.openapp': 'n += 1;\n' });
    expect(text.match(/n \+= 1;/g)).toHaveLength(2);
  });

  it('rejects a cycle and shows its chain', () => {
    const files = {
      'main.openapp': 'include "a"',
      'a.openapp': '\n  include "b"',
      'b.openapp': 'include "a"',
    };
    expect(faultsOf(files)).toEqual([
      'A file includes itself: a.openapp → b.openapp → a.openapp @ b.openapp:1:1',
    ]);
  });

  it('says where a file that is not there was wanted', () => {
    expect(faultsOf({ 'main.openapp': '1;\n  include "gone"' })).toEqual([
      'gone.openapp: no such file @ main.openapp:2:3',
    ]);
  });

  it('stops when files that include each other twice grow beyond what the service takes', () => {
    const files: Record<string, string> = { 'f0.openapp': 'x();\n'.repeat(100) };
    for (let i = 1; i <= 20; i++) files[`f${i}.openapp`] = `include "f${i - 1}"\ninclude "f${i - 1}"\n`;
    expect(faultsOf(files, {}, 'f20.openapp')[0]).toContain('The script is longer than 1048576 characters');
  });

  it.each(['include "a" + 1', 'include "a", "b"', 'include ""', 'include "a'])('refuses %s', (line) => {
    expect(faultsOf({ 'main.openapp': line })).toEqual([
      'An include stands alone on its line: include "path" @ main.openapp:1:1',
    ]);
  });

  it.each([
    'let include = 1;\ninclude += 1;',
    'x(); include "a"',
    '`\ninclude "a"\n`',
    '#"\ninclude "a"\n"#',
    '/* /* */\ninclude "a"\n*/',
    '// include "a"',
    '"one \\\ninclude \\"a\\" "',
  ])('leaves alone what is no statement at the start of a line of code: %s', (text) => {
    expect(run({ 'main.openapp': text }).text).toBe(text);
  });

  it('finds statements again after texts and comments of every kind', () => {
    const before = [
      '"/*";',
      "'\"';",
      '"\\"";',
      '#"""#;',
      `\`\${ "}" + \`\${1}\` }\`;`,
      '/* " */',
      '// `',
      '"open',
    ];
    const text = before.map((line) => `${line}\ninclude "a"\n`).join('');
    expect(run({ 'main.openapp': text, 'a.openapp': 'HERE\n' }).text.match(/HERE/g)).toHaveLength(8);
  });

  it('keeps a comment at the end of a file from what follows', () => {
    const { text } = run({ 'main.openapp': 'include "a"; // rest', 'a.openapp': '1 // one' });
    expect(text).toBe('1 // one\n; // rest');
  });
});

describe('load_json and load_toml', () => {
  it('make a variable, from files beside the script that is run', () => {
    const files = {
      'main.openapp': 'include "parts/a"',
      'parts/a.openapp': 'load_json "site.json" as site;\nload_toml "site.toml" as more',
      'site.json':
        '{"floors": [1, 2.0, -9223372036854775808], "name": "A \\"B\\"\\n", "none": null, "on": true}',
      'site.toml': 'n = 1\nf = 1.0\nday = 2026-01-02\n[a]\nb = "x"',
    };
    expect(run(files).text).toBe(
      'let site = #{ "floors": [1, 2.0, -9223372036854775808], "name": "A \\"B\\"\\n", "none": (), "on": true };;\n' +
        'let more = #{ "n": 1, "f": 1.0, "day": "2026-01-02", "a": #{ "b": "x" } };\n',
    );
  });

  it('point into a data file that can not be read', () => {
    expect(faultsOf({ 'main.openapp': 'load_json "a.json" as a', 'a.json': '{\n  "a": 1,\n  b\n}' })).toEqual(
      [expect.stringMatching(/^a\.json: .* @ a\.json:3:3$/)],
    );
    expect(faultsOf({ 'main.openapp': 'load_toml "a.toml" as a', 'a.toml': 'a = 1\nb = = 2' })).toEqual([
      expect.stringMatching(/^a\.toml: .* @ a\.toml:2:\d+$/),
    ]);
    expect(faultsOf({ 'main.openapp': '\nload_json "a.json" as a' })).toEqual([
      'a.json: no such file @ main.openapp:2:1',
    ]);
    expect(faultsOf({ 'main.openapp': 'load_toml "a.toml" as a', 'a.toml': 'a = inf' })).toEqual([
      'a.toml: Infinity can not be written in a script @ main.openapp:1:1',
    ]);
  });

  it.each(['load_json "a.json"', 'load_json "a.json" as 1x', 'load_toml "a.toml" as a b'])(
    'refuse %s',
    (line) => {
      expect(faultsOf({ 'main.openapp': line })).toEqual([
        'Data are loaded on a line of their own: load_json "path.json" as name @ main.openapp:1:1',
      ]);
    },
  );
});

describe('placeholders', () => {
  it('are raw text, in code, in texts and in what was included or loaded', () => {
    const files = {
      'main.openapp': 'include "a"\nload_json "d.json" as d\nlet n = {{N}}; // {{NOT_NEEDED}}',
      'a.openapp': 'let t = "{{T}}";\n',
      'd.json': '{"key": "{{T}}"}',
    };
    expect(run(files, { N: '1 + 1', T: 'x"y' }).text).toBe(
      'let t = "x"y";\n\nlet d = #{ "key": "x"y" };\nlet n = 1 + 1; // {{NOT_NEEDED}}',
    );
  });

  it('are listed together when values are missing, each once at its first place', () => {
    const files = { 'main.openapp': '"{{A}}{{B}}";\n{{A}};\ninclude "a"', 'a.openapp': ' {{C}} ' };
    expect(faultsOf(files, { B: '' })).toEqual([
      'No value for {{A}} @ main.openapp:1:2',
      'No value for {{C}} @ a.openapp:1:2',
    ]);
  });

  it('are not expanded inside values', () => {
    expect(run({ 'main.openapp': '{{A}}' }, { A: '{{B}}' }).text).toBe('{{B}}');
  });

  it('leave blocks and other braces alone', () => {
    const text = '{{ x }}; {{1}}; #{a: #{b: 1}}';
    expect(run({ 'main.openapp': text }).text).toBe(text);
  });
});

describe('places', () => {
  it('are those of the file that was written, with the includes that lead there', () => {
    const files = {
      'main.openapp': '1;\ninclude "parts/a"',
      'parts/a.openapp': 'include "b"',
      'parts/b.openapp': '\n  "🚪🚪"; oops',
    };
    const { text, locate } = run(files);
    const line = text.split('\n').findIndex((each) => each.includes('oops')) + 1;
    expect(locate({ line, column: 9 })).toEqual({
      name: 'parts/b.openapp',
      line: 2,
      column: 9,
      lineText: '  "🚪🚪"; oops',
      insteadOf: null,
      includedFrom: [
        { name: 'parts/a.openapp', line: 1 },
        { name: 'main.openapp', line: 2 },
      ],
    });
  });

  it('inside a value are the place of what was written for it', () => {
    const { locate } = run({ 'main.openapp': 'let a = {{LONG}} + oops' }, { LONG: '1 +\n2 + x' });
    expect(locate({ line: 2, column: 5 })).toMatchObject({ line: 1, column: 9, insteadOf: '{{LONG}}' });
    expect(locate({ line: 2, column: 9 })).toMatchObject({ line: 1, column: 20, insteadOf: null });
  });

  it('at the end of the text are the end of the last file', () => {
    expect(run({ 'main.openapp': 'a(' }).locate({ line: 1, column: 3 })).toMatchObject({
      line: 1,
      column: 3,
    });
    expect(run({ 'main.openapp': '' }).locate({ line: 1, column: 1 })).toMatchObject({ line: 1, column: 1 });
  });
});
