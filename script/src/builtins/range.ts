import { createFault, type Fault } from '../errors.ts';
import { nowhere } from '../position.ts';
import { floatOf } from '../values/compare.ts';
import { normalInt } from '../values/int.ts';
import { Type as T } from '../values/kinds.ts';
import { float, type Int, type RangeValue, range, sequence, type Value } from '../values/value.ts';
import { type Native, pure } from './native.ts';

function zeroStep(): Fault {
  const fault = createFault('ErrorArithmetic', 'step value cannot be zero');
  fault.trail = [{ label: "in call to function 'range'", name: 'range', position: nowhere }];
  return fault;
}

function stepped(from: Int, to: Int, step: Int): Value {
  if (step === 0) throw zeroStep();
  const distance = BigInt(to) - BigInt(from);
  const by = BigInt(step);
  const isTowards = distance > 0n === by > 0n && distance !== 0n;
  const count = isTowards ? (distance + by + (by > 0n ? -1n : 1n)) / by : 0n;
  return sequence(Number(count), (i) => normalInt(BigInt(from) + by * BigInt(i)));
}

function steppedFloats(from: number, to: number, step: number): Value {
  if (step === 0) throw zeroStep();
  const count = Math.ceil((to - from) / step);
  return sequence(Math.max(0, Number.isFinite(count) ? count : 0), (i) => float(from + step * i));
}

const number = (value: Value): number => floatOf(value) ?? 0;

export const rangeNatives: readonly Native[] = [
  pure('range', [T.int, T.int], (_, [from, to]) => range(from as Int, to as Int, false)),
  pure('range', [T.int, T.int, T.int], (_, [from, to, step]) => stepped(from as Int, to as Int, step as Int)),
  pure('range', [T.range, T.int], (_, [given, step]) => {
    const { start, end, inclusive } = given as RangeValue;
    return stepped(start, inclusive ? normalInt(BigInt(end) + 1n) : end, step as Int);
  }),
  pure('range', [T.float, T.float, T.float], (_, [from, to, step]) =>
    steppedFloats(number(from), number(to), number(step)),
  ),
  pure('contains', [T.range, T.int], (_, [given, value]) => {
    const { start, end, inclusive } = given as RangeValue;
    return (value as Int) >= start && (inclusive ? (value as Int) <= end : (value as Int) < end);
  }),
];
