import { fileURLToPath } from 'node:url';
import { eventually } from '../eventually.ts';
import { freePort } from './free-port.ts';
import { startPeerProcess } from './peer-process.ts';

/** python3-pymodbus as a board of 30 relays without the vendor's extensions (no toggle, no flash). */
export interface PymodbusPeer {
  readonly port: number;
  /** Every change of a coil so far, as `coil <index> <0|1>`. */
  readonly changes: () => string[];
  set(coil: number, on: boolean): void;
  /** From now on every address is an illegal one to it. */
  refuse(refusing: boolean): Promise<void>;
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL('pymodbus-server.py', import.meta.url));

export async function startPymodbus(dialect: 'mbap' | 'rtu', samePort?: number): Promise<PymodbusPeer> {
  const port = samePort ?? (await freePort());
  // Debian's own interpreter: another one in the path would not see the package.
  const child = startPeerProcess('/usr/bin/python3', [script, dialect, String(port)]);
  await child.line(/^port \d+$/);
  return {
    port,
    changes: () => child.lines.filter((line) => line.startsWith('coil ')),
    refuse: async (refusing) => {
      const answers = (): number => child.lines.filter((line) => line.startsWith('refusing')).length;
      const before = answers();
      child.write(`refuse 0 ${refusing ? 1 : 0}\n`);
      await eventually(() => answers() > before);
    },
    set: (coil, on) => child.write(`set ${coil} ${on ? 1 : 0}\n`),
    stop: () => child.stop(),
  };
}
