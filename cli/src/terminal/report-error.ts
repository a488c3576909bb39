import { type CliError, exitCodes } from '../exit.ts';
import { excerptOf } from './excerpt.ts';
import type { Terminal } from './terminal.ts';

/** For people on standard error, for programs as the one JSON document on standard output. */
export function reportError(terminal: Terminal, error: CliError, isJson: boolean): void {
  if (error.isReported || error.exitCode === exitCodes.ok) return;
  if (isJson) {
    const { message, hint, details } = error;
    terminal.printJson({ error: { message, ...details, ...(hint === null ? {} : { hint }) } });
    return;
  }
  const { noteStyle: style } = terminal;
  for (const { message, at } of error.complaints) {
    terminal.note(`${style.red(style.bold('error:'))} ${message}`);
    if (at !== undefined) for (const line of excerptOf(at, style)) terminal.note(line);
  }
  if (error.hint !== null) terminal.note(`${style.dim('hint:')} ${error.hint}`);
  const id = error.details.correlation_id;
  if (typeof id === 'string' && id !== '') terminal.note(style.dim(`correlation id: ${id}`));
}
