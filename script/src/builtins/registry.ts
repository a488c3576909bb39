import { anyNatives } from './any.ts';
import { arrayNatives } from './array.ts';
import { blobNatives } from './blob.ts';
import { callbackNatives } from './callbacks.ts';
import { fnNatives } from './fn.ts';
import { jsonNatives } from './json.ts';
import { mapNatives } from './map.ts';
import type { Native } from './native.ts';
import { numberNatives } from './number.ts';
import { rangeNatives } from './range.ts';
import { splitNatives } from './split.ts';
import { stringNatives } from './string.ts';

const byName = new Map<string, Native[]>();
for (const native of [
  ...arrayNatives,
  ...callbackNatives,
  ...mapNatives,
  ...stringNatives,
  ...splitNatives,
  ...numberNatives,
  ...rangeNatives,
  ...blobNatives,
  ...fnNatives,
  ...jsonNatives,
  ...anyNatives,
])
  byName.set(native.name, [...(byName.get(native.name) ?? []), native]);

const none: readonly Native[] = [];

/** All overloads of a built-in, in the order in which they are tried. */
export const nativesNamed = (name: string): readonly Native[] => byName.get(name) ?? none;

export const nativeNames: readonly string[] = [...byName.keys()];
