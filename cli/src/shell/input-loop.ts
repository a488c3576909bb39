import { createInterface, type Interface } from 'node:readline';
import { scan } from '../preprocess/scan.ts';
import type { Input, Output, World } from '../world.ts';
import { historySize, readHistory, writeHistory } from './history.ts';

export interface LoopDeps {
  readonly world: World;
  readonly isInteractive: boolean;
  /** Whether more must follow, though every bracket is closed. */
  readonly isIncomplete: (input: string) => boolean;
  readonly complete: (line: string) => [string[], string];
  /** Handles a whole input; false ends the loop. */
  readonly handle: (input: string, signal: AbortSignal) => Promise<boolean>;
}

const prompt = 'lintel> ';
const continued = '     …> ';

/** Reads inputs, each of as many lines as it needs, until the end of the input. */
export async function readInputs(deps: LoopDeps): Promise<void> {
  const { world, isInteractive } = deps;
  const lines = createLineReader(deps);
  const state = { pending: '', running: null as AbortController | null, isClosed: false };
  // The end may come while an input runs; what was typed before it is still worked through.
  lines.once('close', () => {
    state.isClosed = true;
  });
  lines.on('SIGINT', () => interrupt(lines, state));
  world.signal.addEventListener('abort', () => lines.close(), { once: true });
  const ask = () => {
    if (!isInteractive || state.isClosed) return;
    lines.setPrompt(state.pending === '' ? prompt : continued);
    lines.prompt();
  };
  const submit = async (): Promise<boolean> => {
    const input = state.pending;
    state.pending = '';
    state.running = new AbortController();
    const goesOn = await deps.handle(input, AbortSignal.any([state.running.signal, world.signal]));
    state.running = null;
    return goesOn;
  };
  ask();
  for await (const line of lines) {
    state.pending = state.pending === '' ? line : `${state.pending}\n${line}`;
    const isWhole = state.pending.trim() !== '' && endsHere(state.pending, line, deps);
    if (state.pending.trim() === '') state.pending = '';
    if (isWhole && !(await submit())) break;
    ask();
  }
  if (state.pending.trim() !== '') await submit();
  lines.close();
}

/** An empty line ends what could go on, except inside of brackets, texts and comments, where it may stand. */
const endsHere = (pending: string, line: string, { isIncomplete }: LoopDeps): boolean =>
  !scan(pending).isOpen && (line.trim() === '' || !isIncomplete(pending));

function createLineReader({ world, isInteractive, complete }: LoopDeps): Interface {
  const { stdin, stderr, environment } = world;
  if (!isInteractive) return createInterface({ input: stdin as Input, crlfDelay: Number.POSITIVE_INFINITY });
  const lines = createInterface({
    input: stdin,
    output: stderr as Output,
    terminal: true,
    historySize,
    removeHistoryDuplicates: true,
    history: readHistory(environment.historyPath),
    completer: complete,
  });
  lines.on('history', (history: string[]) => writeHistory(environment.historyPath, history));
  return lines;
}

/** Ctrl-C stops what runs; otherwise it drops what was typed. */
function interrupt(lines: Interface, state: { pending: string; running: AbortController | null }): void {
  if (state.running !== null) {
    state.running.abort();
    return;
  }
  state.pending = '';
  lines.write(null, { ctrl: true, name: 'u' });
  lines.write('\n');
}
