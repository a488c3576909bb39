import type { Expectation } from './support/run-case.ts';

const refused = (position: number): Expectation => ({
  error: {
    contains: "'eval' is a reserved keyword",
    kind: 'ErrorParsing',
    full: `Syntax error: 'eval' is a reserved keyword (line 1, position ${position})`,
    line: 1,
    position,
  },
});

/** The cases that are answered differently on purpose, and how. README.md says why. */
export const deliberate: ReadonlyMap<string, Expectation> = new Map<string, Expectation>([
  ['try-046', refused(19)],
  ['eval-001', refused(1)],
  ['eval-004', refused(12)],
  ['eval-007', refused(14)],
  ['eval-008', refused(1)],
  ['eval-009', refused(1)],
  ['eval-010', refused(21)],
  ['eval-011', refused(1)],
  ['eval-012', refused(34)],
  ['eval-013', refused(1)],
  ['eval-014', refused(1)],
  ['eval-016', refused(1)],
  [
    'map.methods-019',
    { value: '{"a":1,"b":[1,{"c":null}],"c":"z","f":1.5,"s":"q\\"x","t":true}', type: 'string' },
  ],
  [
    'misc-006',
    {
      error: {
        contains: "No writable property 'tag'",
        kind: 'ErrorDotExpr',
        full: "No writable property 'tag' - a setter is not registered for type 'i64' to handle 'i64' (line 1, position 14)",
        line: 1,
        position: 14,
      },
    },
  ],
  ['op.elvis-022', { value: null, type: '()' }],
  [
    'op.elvis-023',
    {
      error: {
        contains: 'Indexer unavailable: () [string]',
        kind: 'ErrorIndexingType',
        full: 'Indexer unavailable: () [string] (line 1, position 14)',
        line: 1,
        position: 14,
      },
    },
  ],
  ['string.slice-001', { value: 'a', type: 'string' }],
]);
