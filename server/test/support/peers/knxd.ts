import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';
import { freePort } from './free-port.ts';
import { type PeerProcess, startPeerProcess } from './peer-process.ts';

/** Debian's knxd with a bus of its own in memory, and knxtool as the other devices on it. */
export interface KnxdPeer {
  readonly port: number;
  /** The group telegrams on the bus so far, as knxtool prints them: `Write from 0.0.4 to 2/1/1: 01`. */
  readonly telegrams: () => string[];
  write(group: string, value: 0 | 1): Promise<void>;
  respond(group: string, value: 0 | 1): Promise<void>;
  stop(): Promise<void>;
}

/** `tunnels`: how many addresses it has to give, to us and to its own tools. */
export async function startKnxd({ port = 0, tunnels = 8 } = {}): Promise<KnxdPeer> {
  const dir = mkdtempSync(join(tmpdir(), 'lintel-knxd-'));
  const socket = join(dir, 'knx.sock');
  const udpPort = port === 0 ? await freePort() : port;
  const daemon = startPeerProcess('knxd', knxdArguments(socket, udpPort, tunnels));
  await eventually(() => existsSync(socket));
  const listener = startPeerProcess('knxtool', ['groupsocketlisten', `local:${socket}`]);
  const tool = (command: string, group: string, value: 0 | 1): Promise<void> =>
    runTool([command, `local:${socket}`, group, String(value)]);
  await untilListening(listener, () => tool('groupswrite', '31/7/255', 0));
  return {
    port: udpPort,
    telegrams: () => listener.lines.filter((line) => / from /.test(line) && !line.includes('31/7/255')),
    write: (group, value) => tool('groupswrite', group, value),
    respond: (group, value) => tool('groupsresponse', group, value),
    stop: async () => {
      await listener.stop();
      await daemon.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** knxd reads its arguments in order: what belongs to the server before `-S`, the bus last. */
function knxdArguments(socket: string, port: number, tunnels: number): string[] {
  const server = ['-D', '-T', '-I', 'lo', '-S', `224.0.23.12:${port}`];
  return ['-e', '0.0.1', '-E', `0.0.2:${tunnels}`, '-u', socket, ...server, '-b', 'dummy:'];
}

async function untilListening(listener: PeerProcess, write: () => Promise<void>): Promise<void> {
  await eventually(async () => {
    await write();
    return listener.lines.some((line) => line.includes('31/7/255'));
  });
}

async function runTool(args: readonly string[]): Promise<void> {
  const tool = startPeerProcess('knxtool', args);
  await tool.ended();
}
