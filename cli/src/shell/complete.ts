import { nativeNames } from '@lintel/script/builtins/registry';
import { keywords, specialFunctions } from '@lintel/script/lexer/token';
import type { Session } from '@lintel/script/session';
import { hostSignatures } from './host-functions.ts';

const isName = (text: string): boolean => /^[A-Za-z_]\w*$/.test(text);

/** Words that the language has, and scripts may not use. */
const refused: ReadonlySet<string> = new Set(['eval', 'import']);

const functions = [...Object.keys(hostSignatures), ...specialFunctions, ...nativeNames].filter(isName);
const commands = ['.exit', '.help', '.vars'];

/** As readline asks for it: what may stand for the name that the line ends with, and that name. */
export function completeLine(
  line: string,
  session: Session,
  constants: readonly string[],
): [string[], string] {
  if (/^\.\w*$/.test(line)) return [commands.filter((command) => command.startsWith(line)), line];
  const begun = /[A-Za-z_]\w*$/.exec(line)?.[0] ?? '';
  const isMethod = line.slice(0, line.length - begun.length).endsWith('.');
  const own = [...session.functions.values()].map(({ name }) => name);
  const names = isMethod
    ? [...own, ...nativeNames.filter(isName)]
    : [...session.variables.keys(), ...own, ...constants, ...functions, ...keywords];
  const found = names.filter(
    (name) => name.startsWith(begun) && !name.startsWith('anon$') && !refused.has(name),
  );
  return [[...new Set(found)].sort(), begun];
}
