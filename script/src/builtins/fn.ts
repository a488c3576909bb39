import { Type as T } from '../values/kinds.ts';
import { type FnValue, Kind, type Value } from '../values/value.ts';
import { type Native, pure } from './native.ts';

const maxCurried = 8;

function curry([fn, ...more]: Value[]): Value {
  const { name, closure, curried } = fn as FnValue;
  return { k: Kind.fn, name, closure, curried: [...curried, ...more] };
}

export const fnNatives: readonly Native[] = Array.from({ length: maxCurried }, (_, count) =>
  pure('curry', [T.fn, ...new Array<number>(count + 1).fill(T.any)], (_rt, args) => curry(args)),
);
