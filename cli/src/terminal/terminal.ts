import { exactText } from '../exact-json.ts';
import type { Output, World } from '../world.ts';

export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly blue: (text: string) => string;
}

export interface Terminal {
  /** Results go to standard output, everything else to standard error. */
  readonly print: (text: string) => void;
  readonly note: (text: string) => void;
  readonly printJson: (value: unknown) => void;
  readonly style: Style;
  readonly noteStyle: Style;
  /** Whether somebody is there to answer a question. */
  readonly isInteractive: boolean;
  /** Shows that something takes long, on a terminal only. */
  readonly during: <T>(what: string, work: Promise<T>) => Promise<T>;
}

export function createTerminal(world: World, isJson: boolean): Terminal {
  const { stdin, stdout, stderr, environment } = world;
  const styleFor = (stream: Output) => createStyle(environment.wantsColour && stream.isTTY === true);
  return {
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    printJson: (value) => void stdout.write(`${exactText(value)}\n`),
    style: styleFor(stdout),
    noteStyle: styleFor(stderr),
    isInteractive: stdin.isTTY === true && stderr.isTTY === true && !isJson,
    during: (what, work) => (stderr.isTTY === true && !isJson ? spin(stderr, what, work) : work),
  };
}

function createStyle(isOn: boolean): Style {
  const paint = (code: number) => (text: string) => (isOn ? `\u001b[${code}m${text}\u001b[0m` : text);
  return {
    bold: paint(1),
    dim: paint(2),
    red: paint(31),
    green: paint(32),
    yellow: paint(33),
    blue: paint(34),
  };
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 100;
/** What is over sooner shows nothing. */
const patienceFrames = 4;

async function spin<T>(stream: Output, what: string, work: Promise<T>): Promise<T> {
  let turn = 0;
  const timer = setInterval(() => {
    turn += 1;
    if (turn < patienceFrames) return;
    const seconds = Math.floor((turn * frameMs) / 1000);
    stream.write(`\r\u001b[K${frames[turn % frames.length]} ${what} ${seconds}s`);
  }, frameMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (turn >= patienceFrames) stream.write('\r\u001b[K');
  }
}
