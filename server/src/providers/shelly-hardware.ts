import type { Hardware } from './provider.ts';

/** A model may come before the address, and a channel after it. Migration 0021 has the same. */
const address = /(?:^|[-_])((?:[0-9a-f]{2}[:.-]?){5}[0-9a-f]{2})(?:[-:_.][0-9]{1,2})?$/;

/** The cloud names a device by its MAC address, the device itself by its model and that. */
export function shellyHardware(id: unknown): Hardware | null {
  if (typeof id !== 'string') return null;
  const name = id.toLowerCase();
  const mac = address.exec(name)?.[1]?.replace(/[:.-]/g, '');
  return { maker: 'shelly', id: mac ?? name };
}
