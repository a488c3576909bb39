import { CliError, exitCodes } from '../exit.ts';
import { visible } from '../terminal/visible-text.ts';

export interface Named {
  readonly id: string;
  readonly name: string | null;
}

const same = (text: string): string => text.normalize('NFC').trim();
const folded = (text: string): string => same(text).toLowerCase();

/** The one that is meant: by its id, by its exact name, or by its name in another case when only one has it. */
export function findOne<T extends Named>(noun: string, wanted: string, candidates: readonly T[]): T {
  const byId = candidates.find(({ id }) => id === wanted);
  if (byId !== undefined) return byId;
  const exact = candidates.filter(({ name }) => name !== null && same(name) === same(wanted));
  const alike = candidates.filter(({ name }) => name !== null && folded(name) === folded(wanted));
  const found = exact.length > 0 ? exact : alike;
  const [first, ...others] = found;
  if (first === undefined) throw nothingFound(noun, wanted, candidates);
  if (others.length > 0) throw ambiguous(noun, wanted, found);
  return first;
}

function nothingFound(noun: string, wanted: string, candidates: readonly Named[]): CliError {
  const close = candidates.filter(({ name }) => name !== null && folded(name).includes(folded(wanted)));
  return new CliError(exitCodes.notFound, `There is no ${noun} called ${visible(wanted)}`, {
    hint: close.length === 0 ? undefined : `Did you mean one of these?\n${listed(close)}`,
    details: { code: 'not_found', candidates: close.map(({ id, name }) => ({ id, name })) },
  });
}

function ambiguous(noun: string, wanted: string, found: readonly Named[]): CliError {
  return new CliError(exitCodes.notFound, `${found.length} ${noun} records are called ${visible(wanted)}`, {
    hint: `Name the id of the one you mean:\n${listed(found)}`,
    details: { code: 'ambiguous', candidates: found.map(({ id, name }) => ({ id, name })) },
  });
}

const listed = (records: readonly Named[]): string =>
  records.map(({ id, name }) => `  ${id}  ${visible(name ?? '')}`).join('\n');
