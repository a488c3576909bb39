import type { Hardware } from './provider.ts';

/** The cloud names a device by its MAC address, the device itself by its model and that. */
export function shellyHardware(id: unknown): Hardware | null {
  if (typeof id !== 'string') return null;
  const mac = /(?:^|-)([0-9A-Fa-f]{12})$/.exec(id)?.[1];
  return { maker: 'shelly', id: mac?.toLowerCase() ?? id };
}
