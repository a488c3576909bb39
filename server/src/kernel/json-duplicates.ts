const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** One open array or object on the way to the place that is read. */
interface Level {
  /** Null in an array. */
  readonly names: Set<string> | null;
  /** The member, or the index, that is being read. */
  at: string | number;
}

/**
 * The JSON pointer of the first member that its object already has, or null. JSON.parse keeps the last one silently.
 * Expects valid JSON.
 */
export function findDuplicateMember(text: string): string | null {
  const levels: Level[] = [];
  let isName = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const level = levels.at(-1);
    if (code === QUOTE) {
      const end = endOfString(text, index);
      if (isName && level?.names != null) {
        level.at = JSON.parse(text.slice(index, end + 1)) as string;
        if (level.names.has(level.at)) return pointerTo(levels);
        level.names.add(level.at);
      }
      index = end;
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      levels.push({ names: code === OPEN_OBJECT ? new Set() : null, at: 0 });
      isName = code === OPEN_OBJECT;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      levels.pop();
      isName = false;
    } else if (code === COLON) {
      isName = false;
    } else if (code === COMMA && level !== undefined) {
      isName = level.names !== null;
      if (typeof level.at === 'number') level.at += 1;
    }
  }
  return null;
}

function pointerTo(levels: readonly Level[]): string {
  return levels.map(({ at }) => `/${String(at).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  for (; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === BACKSLASH) index += 1;
    else if (code === QUOTE) break;
  }
  return index;
}
