import { isIP } from 'node:net';
import { isMetadataAddress, isPublicAddress } from '../kernel/address-ranges.ts';
import type { EgressAllow } from './egress-allow.ts';

export interface CheckedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Where a request goes: these addresses were checked, and no other is connected to. */
export interface EgressTarget {
  readonly url: URL;
  readonly addresses: readonly CheckedAddress[];
}

export interface TargetRules {
  readonly allow: EgressAllow;
  readonly ports: readonly number[];
  /** Every address of a name, in the order they should be tried. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
}

/** Says why a target is refused, in words that a caller may see. */
export class EgressRefused extends Error {}

const maxUrlLength = 2048;

/** An address is looked up once, and every address it has must be allowed: one bad one is a trap. */
export async function checkTarget(rules: TargetRules, text: string): Promise<EgressTarget> {
  const url = parseTarget(text);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isNamed = rules.allow.hasHost(host);
  const addresses = isIP(host) === 0 ? await rules.resolve(host) : [host];
  if (addresses.length === 0) throw new EgressRefused('the host has no address');
  const isOwn = isNamed || addresses.every((address) => rules.allow.hasAddress(address));
  if (!isOwn) requireOrdinaryPort(rules, url);
  for (const address of addresses) {
    const isAllowed = isNamed || rules.allow.hasAddress(address) || isPublicAddress(address);
    if (!isAllowed || isMetadataAddress(address)) throw new EgressRefused('the address is not public');
  }
  return { url, addresses: addresses.map(toChecked) };
}

function parseTarget(text: string): URL {
  const url = text.length <= maxUrlLength && URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.hostname === '') throw new EgressRefused('the address is not usable');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new EgressRefused('the address is not https');
  if (url.username !== '' || url.password !== '') throw new EgressRefused('the address holds a credential');
  return url;
}

function requireOrdinaryPort({ ports }: TargetRules, url: URL): void {
  if (url.protocol !== 'https:') throw new EgressRefused('the address is not https');
  const port = url.port === '' ? 443 : Number(url.port);
  if (!ports.includes(port)) throw new EgressRefused(`the port is none of ${ports.join(', ')}`);
}

const toChecked = (address: string): CheckedAddress => ({ address, family: isIP(address) === 4 ? 4 : 6 });
