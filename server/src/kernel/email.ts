import { cleanText } from './text.ts';

/** RFC 5321 4.5.3.1 counts octets. */
const MAX_OCTETS = 254;
const MAX_LOCAL_OCTETS = 64;

/** RFC 5322 dot-atom, opened for letters beyond ASCII by RFC 6531. Quoted local parts are refused on purpose. */
const LOCAL = /^[^\s.@<>()[\]\\,;:"]+(?:\.[^\s.@<>()[\]\\,;:"]+)*$/u;
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?$/u;

/** The one spelling an address is stored and looked up by, or null. A domain without a dot is fine (`admin@localhost`). */
export function normalizeEmail(text: string): string | null {
  const cleaned = cleanText(text.trim(), { maxLength: MAX_OCTETS });
  if (!cleaned.ok) return null;
  // Lower case can undo composition, so NFC comes last again.
  const address = cleaned.text.toLowerCase().normalize('NFC');
  const [local = '', domain = '', ...more] = address.split('@');
  if (more.length > 0 || Buffer.byteLength(address) > MAX_OCTETS) return null;
  if (!LOCAL.test(local) || Buffer.byteLength(local) > MAX_LOCAL_OCTETS) return null;
  return domain.split('.').every((label) => LABEL.test(label)) ? address : null;
}
