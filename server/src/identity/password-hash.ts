import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '../kernel/app-error.ts';
import { createKeyedMutex } from '../kernel/async-queue.ts';
import { equalInConstantTime } from '../kernel/secret.ts';
import { type Argon2Cost, formatPhc, parsePhc } from './phc.rules.ts';

export interface PasswordHasher {
  /** A PHC string with a fresh salt. */
  hash(password: string): Promise<string>;
  /** Costs the same whether there is a stored hash or not, so that its duration does not tell who exists. */
  verify(stored: string | null, password: string): Promise<boolean>;
}

/** OWASP's first recommendation for argon2id. */
const cost: Argon2Cost = { memoryKib: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const tagBytes = 32;
/** Two of libuv's four threads: names must still resolve and files be read while people sign in. */
const lanes = 2;
const maxWaiting = 100;

const derive = promisify(argon2);

export function createPasswordHasher(): PasswordHasher {
  const mutex = createKeyedMutex();
  let waiting = 0;
  let next = 0;

  async function inLane<T>(work: () => Promise<T>): Promise<T> {
    if (waiting >= maxWaiting) throw new AppError('unavailable', 'too many people are signing in right now');
    waiting += 1;
    next = (next + 1) % lanes;
    try {
      return await mutex.run(String(next), work);
    } finally {
      waiting -= 1;
    }
  }

  const tagOf = (password: string, salt: Buffer, { memoryKib, passes, parallelism }: Argon2Cost) =>
    inLane(() =>
      derive('argon2id', {
        // One spelling for one password, whichever keyboard composed it (NIST SP 800-63B).
        message: Buffer.from(password.normalize('NFKC')),
        nonce: salt,
        parallelism,
        tagLength: tagBytes,
        memory: memoryKib,
        passes,
      }),
    );
  const nobody = { salt: randomBytes(saltBytes), tag: randomBytes(tagBytes), cost };

  return {
    async hash(password) {
      const salt = randomBytes(saltBytes);
      return formatPhc({ cost, salt, tag: await tagOf(password, salt, cost) });
    },
    async verify(stored, password) {
      const known = stored === null ? nobody : parsePhc(stored);
      if (known === null) throw new Error('a stored password hash can not be read');
      return equalInConstantTime(await tagOf(password, known.salt, known.cost), known.tag);
    },
  };
}
