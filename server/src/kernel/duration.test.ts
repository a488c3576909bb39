import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDurationSeconds } from './duration.ts';

const MAX_SECONDS = 3650 * 86_400;

function secondsOf(text: string): number | null {
  const result = parseDurationSeconds(text);
  return result.ok ? result.seconds : null;
}

function split(seconds: number): [days: number, hours: number, minutes: number, seconds: number] {
  return [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
}

describe('parseDurationSeconds', () => {
  it.each([
    ['P1D', 86_400],
    ['PT1H', 3600],
    ['P1W', 604_800],
    ['P1DT2H30M', 95_400],
    ['PT15M', 900],
    ['PT90S', 90],
    ['PT1H5S', 3605],
    ['PT0H30M', 1800],
    ['+PT1H', 3600],
    ['pt1h', 3600],
    ['P3650D', MAX_SECONDS],
    ['30s', 30],
    ['15m', 900],
    ['15M', 900],
    ['24h', 86_400],
    ['7d', 604_800],
    ['2w', 1_209_600],
    ['2h30m', 9000],
    ['2h30M', 9000],
    ['1w2d3h4m5s', 788_645],
    ['0h30m', 1800],
    ['007d', 604_800],
    ['3650d', MAX_SECONDS],
    ['315360000s', MAX_SECONDS],
  ])('reads %s as %d seconds', (text, seconds) => {
    expect(parseDurationSeconds(text)).toEqual({ ok: true, seconds });
  });

  it.each([
    ['1y', 'years'],
    ['1Y', 'years'],
    ['1y2d', 'years'],
    ['1mo', 'months'],
    ['P1Y', 'years'],
    ['P1M', 'months'],
    ['P1Y2M', 'years'],
    ['-1h', 'negative'],
    ['-PT1H', 'negative'],
    ['0s', 'zero'],
    ['0d0h', 'zero'],
    ['PT0S', 'zero'],
    ['P0W', 'zero'],
    ['3651d', '3650d'],
    ['3650d1s', '3650d'],
    ['P3650DT1S', '3650d'],
    ['522w', '3650d'],
    ['99999999999999999999d', '3650d'],
    [`${'9'.repeat(400)}d`, 'too long'],
  ])('refuses %s and says why', (text, word) => {
    expect(parseDurationSeconds(text)).toEqual({ ok: false, reason: expect.stringContaining(word) });
  });

  it.each([
    '',
    ' ',
    'P',
    'PT',
    'P1DT',
    'PT1H ',
    ' 1h',
    '2h 30m',
    '1h\n',
    '3600',
    'h',
    '1.5h',
    'PT1.5H',
    '1,5h',
    '1e3s',
    '0x10s',
    '30m2h',
    '1h1h',
    '1m1M',
    '1H',
    '1D',
    'P1W2D',
    'P1H',
    'PT1D',
    'PT1W',
    'PT30M2H',
    'P2H30M',
    '2hT30m',
    'P1d2h',
    '1h-30m',
    '+1h',
    '١h',
    'tomorrow',
    'null',
  ])('refuses %j', (text) => {
    expect(parseDurationSeconds(text)).toEqual({ ok: false, reason: expect.any(String) });
  });

  it('reads back any duration however it is written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_SECONDS }), fc.constantFrom('m', 'M'), (total, minute) => {
        const [days, hours, minutes, seconds] = split(total);
        expect(secondsOf(`${days}d${hours}h${minutes}${minute}${seconds}s`)).toBe(total);
        expect(secondsOf(`P${days}DT${hours}H${minutes}M${seconds}S`)).toBe(total);
        expect(secondsOf(`${total}s`)).toBe(total);
        expect(secondsOf(`PT${total}S`)).toBe(total);
      }),
    );
  });

  it('accepts any text only within the bounds, and never throws', () => {
    const token = fc.constantFrom(
      'P',
      'T',
      'D',
      'H',
      'M',
      'S',
      'W',
      's',
      'm',
      'h',
      'd',
      'w',
      'y',
      '-',
      '+',
      '.',
    );
    const piece = fc.oneof(token, fc.nat(9999).map(String));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const seconds = secondsOf(pieces.join(''));
        if (seconds === null) return;
        expect(Number.isInteger(seconds)).toBe(true);
        expect(seconds).toBeGreaterThan(0);
        expect(seconds).toBeLessThanOrEqual(MAX_SECONDS);
      }),
      { numRuns: 2000 },
    );
  });
});
