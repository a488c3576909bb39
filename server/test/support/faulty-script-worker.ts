// Stands in for the process of a script and does not keep to the rules; the script says in which way.
import { Socket } from 'node:net';
import { listenTo, writeTo } from '../../src/features/scripting/script-pipe.ts';

const pipe = new Socket({ fd: 3 });
pipe.on('close', () => process.exit(0));

/** Kept alive. */
const hoard: Buffer[] = [];

const ways: Readonly<Record<string, () => void>> = {
  announces: () => {
    const header = Buffer.alloc(4);
    header.writeUInt32LE(2 ** 31);
    pipe.write(Buffer.concat([header, Buffer.alloc(1024)]));
  },
  garbage: () => void pipe.write(Buffer.from([8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])),
  prints: () => {
    for (let i = 0; i < 100; i += 1) writeTo(pipe, { type: 'printed', texts: ['x'.repeat(100_000)] });
  },
  calls: () => {
    for (let i = 0; i < 2; i += 1) writeTo(pipe, { type: 'call', name: 'list', args: ['zone'] });
  },
  hoards: () => {
    for (let i = 0; i < 40; i += 1) hoard.push(Buffer.alloc(10 * 1024 * 1024, 1));
  },
  'hoards and ends': () => {
    for (let i = 0; i < 40; i += 1) hoard.push(Buffer.alloc(10 * 1024 * 1024, 1));
    writeTo(pipe, { type: 'done', value: process.pid, operations: hoard.length });
  },
  ends: () => writeTo(pipe, { type: 'done', value: process.pid, operations: 0 }),
};

listenTo(pipe, 2 ** 20, {
  hear: (message) => ways[(message as { job: { script: string } }).job.script]?.(),
  refuse: () => process.exit(2),
});
