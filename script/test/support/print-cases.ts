import { existsSync, readFileSync } from 'node:fs';

/** After the last test: how many cases of the real engine were answered as expected. */
export function teardown(): void {
  const file = process.env.SCRIPT_CASES_FILE;
  if (file !== undefined && existsSync(file)) process.stdout.write(`\n${readFileSync(file, 'utf8')}\n`);
}
