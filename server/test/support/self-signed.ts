import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate that vouches for itself, for the names given. */
export function selfSigned(...names: readonly string[]): { key: string; certificate: string } {
  const dir = mkdtempSync(join(tmpdir(), 'lintel-certificate-'));
  const [keyout, out] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const alternatives = names.map((name) => `${/^[\d.]+$/.test(name) ? 'IP' : 'DNS'}:${name}`).join(',');
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${alternatives}`];
  try {
    execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', keyout, '-out', out], {
      stdio: 'ignore',
    });
    return { key: readFileSync(keyout, 'utf8'), certificate: readFileSync(out, 'utf8') };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
