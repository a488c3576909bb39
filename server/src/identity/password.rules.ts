export type PasswordVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly problem: PasswordProblem };

export type PasswordProblem = 'too_short' | 'too_long' | 'like_the_address' | 'too_common';

/** The contract's bounds for a new user's password. */
export const minPasswordLength = 8;
export const maxPasswordLength = 256;

/** The most used ones that pass the length; anything longer is the rate limit's part. */
const common = new Set([
  '12345678',
  '123456789',
  '1234567890',
  '1q2w3e4r',
  '1qaz2wsx',
  'abcd1234',
  'admin123',
  'admin1234',
  'administrator',
  'asdfghjkl',
  'baseball',
  'changeme',
  'charlie1',
  'football',
  'iloveyou',
  'letmein1',
  'letmein123',
  'lintel123',
  'password',
  'password1',
  'password12',
  'password123',
  'princess',
  'qwerty123',
  'qwertyuiop',
  'sunshine',
  'superman',
  'trustno1',
  'welcome1',
  'welcome123',
]);

export function judgePassword(password: string, email: string): PasswordVerdict {
  const length = [...password].length;
  if (length < minPasswordLength) return { ok: false, problem: 'too_short' };
  if (length > maxPasswordLength) return { ok: false, problem: 'too_long' };
  const plain = password.normalize('NFKC').toLowerCase();
  if (isLikeAddress(plain, email.toLowerCase())) return { ok: false, problem: 'like_the_address' };
  const repeated = new Set(plain).size < 3;
  return repeated || common.has(plain) ? { ok: false, problem: 'too_common' } : { ok: true };
}

function isLikeAddress(password: string, email: string): boolean {
  const [local = ''] = email.split('@');
  if (password === email || email.includes(password)) return true;
  return local.length >= 4 && password.includes(local) && password.length - local.length < 4;
}
