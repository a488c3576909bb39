import { connect, type Socket } from 'node:net';

export interface LoadOptions {
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** The bytes of the n-th request. */
  readonly request: (n: number) => string;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: number;
}

/**
 * A closed loop over raw keep-alive sockets: cheap enough to share two cores with what it measures, and every single
 * latency is kept. Answers must carry Content-Length, as all of ours do.
 */
export async function httpLoad(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  const start = performance.now();
  const measureFrom = start + options.warmUpMs;
  const end = measureFrom + options.measureMs;
  let sent = 0;
  let failures = 0;

  async function runConnection(): Promise<void> {
    const socket = await open(options);
    const answers = readAnswers(socket);
    while (performance.now() < end) {
      const began = performance.now();
      socket.write(options.request(sent++));
      const { value: status } = await answers.next();
      const now = performance.now();
      if (began < measureFrom || now > end) continue;
      latencies.push(now - began);
      if (status !== 200) failures += 1;
    }
    socket.destroy();
  }

  await Promise.all(Array.from({ length: options.connections }, runConnection));
  return { perSecond: (latencies.length / options.measureMs) * 1000, ...percentiles(latencies), failures };
}

export function percentiles(latencies: number[]): { p50Ms: number; p99Ms: number } {
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

function open({ host, port }: LoadOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

async function* readAnswers(socket: Socket): AsyncGenerator<number, number> {
  let buffered = '';
  for await (const chunk of socket) {
    buffered += (chunk as Buffer).toString('latin1');
    const headEnd = buffered.indexOf('\r\n\r\n');
    if (headEnd < 0) continue;
    const length = Number(/content-length: (\d+)/i.exec(buffered.slice(0, headEnd))?.[1] ?? 0);
    if (buffered.length < headEnd + 4 + length) continue;
    const status = Number(buffered.slice(9, 12));
    buffered = buffered.slice(headEnd + 4 + length);
    yield status;
  }
  return 0;
}

export function postRequest(
  port: number,
  path: string,
  headers: Record<string, string>,
  body: string,
): string {
  const lines = Object.entries({
    host: `localhost:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
