import { BlockList, isIP } from 'node:net';

/** Targets inside the operator's own network that callers may name all the same. */
export interface EgressAllow {
  hasHost(host: string): boolean;
  hasAddress(address: string): boolean;
}

const hostPattern =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/;

/** Host names, addresses and CIDR ranges, separated by commas or white space; null where one is none of these. */
export function parseEgressAllow(text: string): EgressAllow | null {
  const hosts = new Set<string>();
  const ranges = new BlockList();
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const isSound = entries.every((entry) => addRange(ranges, entry) || addHost(hosts, entry));
  if (!isSound) return null;
  return {
    hasHost: (host) => hosts.has(host.toLowerCase().replace(/\.$/, '')),
    hasAddress: (address) => {
      const family = isIP(address);
      return family !== 0 && ranges.check(address, family === 4 ? 'ipv4' : 'ipv6');
    },
  };
}

function addRange(ranges: BlockList, entry: string): boolean {
  const [net = '', bits, ...more] = entry.split('/');
  const family = isIP(net);
  if (family === 0 || more.length > 0) return false;
  const widest = family === 4 ? 32 : 128;
  if (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > widest)) return false;
  ranges.addSubnet(net, bits === undefined ? widest : Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return true;
}

function addHost(hosts: Set<string>, entry: string): boolean {
  const host = entry.toLowerCase();
  // Digits at the end would be an address that was mistyped.
  if (!hostPattern.test(host) || /(?:^|\.)\d+$/.test(host)) return false;
  hosts.add(host);
  return true;
}
