import { BlockList, isIP, isIPv4 } from 'node:net';

type Family = 'ipv4' | 'ipv6';

const listOf = (family: Family, cidrs: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [net = '', bits = ''] = cidr.split('/');
    list.addSubnet(net, Number(bits), family);
  }
  return list;
};

/** The IANA registry of special-purpose IPv4 addresses, multicast and what was never given out. */
const specialIpv4 = listOf('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);

/**
 * IPv6 the other way round: only what is given out as global unicast is public. So loopback, unique local, link-local,
 * multicast, NAT64 (64:ff9b::/96) and mapped IPv4 addresses are outside without being named.
 */
const globalIpv6 = listOf('ipv6', ['2000::/3']);

/** Inside it: Teredo and its neighbours, documentation, and 6to4, which carries any IPv4 address. */
const specialIpv6 = listOf('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

const metadataIpv4 = listOf('ipv4', ['169.254.0.0/16']);
const metadataIpv6 = listOf('ipv6', ['fd00:ec2::254/128', 'fe80::a9fe:a9fe/128']);

/** Whether it is an address of the internet at large. False for anything that is no address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !specialIpv4.check(address, 'ipv4');
  if (isIP(address) !== 6 || address.includes('%')) return false;
  return globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6');
}

/**
 * Where clouds hand out the credentials of the machine itself. Link-local as a whole: which of its addresses a cloud
 * uses is the cloud's choice. Also where the IPv4 address is carried inside an IPv6 one.
 */
export function isMetadataAddress(address: string): boolean {
  if (isIPv4(address)) return metadataIpv4.check(address, 'ipv4');
  const bare = address.replace(/%.*$/, '');
  if (isIP(bare) !== 6) return false;
  if (metadataIpv6.check(bare, 'ipv6')) return true;
  const carried = carriedIpv4(bare);
  return carried !== null && metadataIpv4.check(carried, 'ipv4');
}

const carrying: readonly (readonly [list: BlockList, firstByte: number])[] = [
  [listOf('ipv6', ['::ffff:0:0/96']), 12],
  [listOf('ipv6', ['::/96']), 12],
  [listOf('ipv6', ['64:ff9b::/96']), 12],
  [listOf('ipv6', ['2002::/16']), 2],
];

/** RFC 4291 2.5.5 (compatible, mapped), RFC 6052 (NAT64), RFC 3056 (6to4). */
function carriedIpv4(address: string): string | null {
  const bytes = ipv6Bytes(address);
  const found = carrying.find(([list]) => list.check(address, 'ipv6'));
  return found === undefined ? null : bytes.slice(found[1], found[1] + 4).join('.');
}

/** Of a valid address; the URL parser writes every form of it as hexadecimal groups. */
function ipv6Bytes(address: string): number[] {
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const groups = (text: string | undefined) =>
    text ? text.split(':').map((part) => parseInt(part, 16)) : [];
  const [left, right] = [groups(head), groups(tail)];
  const middle = new Array<number>(8 - left.length - right.length).fill(0);
  return [...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]);
}
