import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { World } from '../world.ts';

/** Asks without showing what is typed. */
export async function readHidden({ stdin, stderr, signal }: World, question: string): Promise<string> {
  stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    return await prompt.question('', { signal });
  } finally {
    prompt.close();
    stderr.write('\n');
  }
}
