import type { Located } from '../preprocess/preprocess.ts';
import type { Style } from './terminal.ts';
import { visible } from './visible-text.ts';

/** The place in its file: where it is, the line, a caret below it, and how it came to be there. */
export function excerptOf(at: Located, style: Style): string[] {
  const { line, column } = at;
  const lineText = at.lineText.replaceAll('\t', ' ');
  const gutter = ' '.repeat(String(line).length);
  const bar = style.blue('|');
  const shown = visible(lineText);
  return [
    `${gutter}${style.blue('-->')} ${at.name}:${line}:${column}`,
    `${gutter} ${bar}`,
    `${style.blue(String(line))} ${bar} ${shown}`,
    `${gutter} ${bar} ${' '.repeat(caretOffset(lineText, column))}${style.red('^')}`,
    ...(at.insteadOf === null ? [] : [`${gutter} = in what ${at.insteadOf} stands for`]),
    ...at.includedFrom.map(({ name, line: from }) => `${gutter} = included from ${name}:${from}`),
  ];
}

/** In columns of the terminal up to the caret: wide characters take two. */
function caretOffset(lineText: string, column: number): number {
  const before = [...lineText].slice(0, column - 1);
  return before.reduce((width, char) => width + (isWide(char) ? 2 : visible(char).length), 0);
}

const isWide = (char: string): boolean =>
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(char);
