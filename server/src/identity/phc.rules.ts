export interface Argon2Cost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

export interface Argon2Hash {
  readonly cost: Argon2Cost;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** The cost stands in every hash, so that raising it later leaves the old ones readable. */
const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,64})\$([A-Za-z0-9+/]{43})$/;

export function formatPhc({ cost, salt, tag }: Argon2Hash): string {
  const { memoryKib, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

export function parsePhc(text: string): Argon2Hash | null {
  const match = PHC.exec(text);
  if (match === null) return null;
  const [, memory, passes, parallelism, salt = '', tag = ''] = match;
  return {
    cost: { memoryKib: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
