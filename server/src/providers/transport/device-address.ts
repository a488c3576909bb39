import type { SocketOptions } from 'node:dgram';
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isMetadataAddress } from '../../kernel/address-ranges.ts';

/**
 * Devices stand in private networks, so that their addresses are not held to the public ones. Only where a cloud hands
 * out the credentials of the machine itself there is never a device (docs/decisions/0015).
 */
export function leadsToMetadata(text: string): boolean {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  // A scheme of its own would keep odd spellings of an address as they are.
  const plain = url.replace(/^[a-z][a-z0-9+.-]*:\/\//i, 'http://');
  const host = URL.canParse(plain) ? new URL(plain).hostname : text;
  return isMetadataAddress(host.replace(/^\[(.*)\]$/, '$1'));
}

/** For sockets to devices: a name that leads there is not followed. */
export const deviceLookup: LookupFunction = (host, options, callback) => {
  systemLookup(host, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, []);
    const isBarred = found.some(({ address }) => isMetadataAddress(address));
    const [first] = found;
    if (isBarred || first === undefined) return callback(barred(), []);
    if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  });
};

/** For datagrams of IPv4: their sockets hand over a family where others hand over options. */
export const deviceLookup4: NonNullable<SocketOptions['lookup']> = (host, _family, callback) =>
  deviceLookup(host, { family: 4 }, (error, address, family) =>
    callback(error, typeof address === 'string' ? address : '', family ?? 4),
  );

const barred = (): NodeJS.ErrnoException =>
  Object.assign(new Error('the address is not allowed'), { code: 'EACCES' });
