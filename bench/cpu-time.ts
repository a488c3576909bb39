import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  readonly cpuMs: number;
}

function readTimes(pid: number): ProcessTimes | null {
  try {
    // Fields after the command's closing bracket: state, ppid, …, utime and stime at 11 and 12. See proc(5).
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { pid, parent: Number(fields[1]), cpuMs: (ticks * 1000) / ticksPerSecond };
  } catch {
    return null;
  }
}

/** CPU time of a process and its living children. */
export function cpuMsOf(pid: number): number {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readTimes(Number(name)));
  return all
    .filter((times) => times !== null)
    .filter((times) => times.pid === pid || times.parent === pid)
    .reduce((sum, times) => sum + times.cpuMs, 0);
}
