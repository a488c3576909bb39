import type { Exit } from '../errors.ts';
import { getters } from '../values/getters.ts';
import { Type as T, typeName } from '../values/kinds.ts';
import { writeDebug } from '../values/text.ts';
import { Kind, share, type Value } from '../values/value.ts';
import { newWritten, textOfValue } from '../values/written.ts';
import { type Native, pure, replacing } from './native.ts';

const exit = (value: Value): never => {
  const signal: Exit = { exit: true, value };
  throw signal;
};

export const anyNatives: readonly Native[] = [
  pure('type_of', [T.any], (_, [value]) => typeName(value)),
  pure('is_shared', [T.any], () => false),
  pure('to_string', [T.any], (rt, [value]) => textOfValue(rt, value)),
  pure('to_debug', [T.any], (rt, [value]) => newWritten(rt, writeDebug, value)),
  pure('print', [], (rt) => void rt.print('')),
  pure('print', [T.any], (rt, [value]) => void rt.print(textOfValue(rt, value))),
  pure('debug', [], (rt) => void rt.print('')),
  pure('debug', [T.any], (rt, [value]) => void rt.print(newWritten(rt, writeDebug, value))),
  pure('exit', [], () => exit(undefined)),
  pure('exit', [T.any], (_, [value]) => exit(share(value))),
  replacing('take', [T.any], (_, [value], self) => {
    self.set(undefined);
    return value;
  }),
  pure('timestamp', [], (rt) => ({ k: Kind.timestamp, ms: rt.now() })),
  // Every property of a built-in type is also a function without further arguments.
  ...[...getters.values()].map(({ name, types, get }) =>
    pure(name, [types], (rt, [value]) => get(rt, value)),
  ),
];
