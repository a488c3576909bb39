import { commissary } from './commissary/commissary.provider.ts';
import { go2rtc } from './go2rtc/go2rtc.provider.ts';
import { homeassistant } from './homeassistant/homeassistant.provider.ts';
import { knx } from './knx/knx.provider.ts';
import { mqtt } from './mqtt/mqtt.provider.ts';
import { palgateCloud } from './palgate-cloud/palgate-cloud.provider.ts';
import type { ProviderDefinition } from './provider.ts';
import { shellyCloud } from './shelly-cloud/shelly-cloud.provider.ts';
import { shellyWebsocket } from './shelly-websocket/shelly-websocket.provider.ts';
import { tasmota } from './tasmota/tasmota.provider.ts';
import { virtualAccess } from './virtual-access/virtual-access.provider.ts';
import { virtualDemo } from './virtual-demo/virtual-demo.provider.ts';
import { waveshare } from './waveshare/waveshare.provider.ts';

const all: readonly ProviderDefinition[] = [
  virtualDemo,
  waveshare,
  knx,
  mqtt,
  shellyWebsocket,
  tasmota,
  palgateCloud,
  shellyCloud,
  homeassistant,
  go2rtc,
  virtualAccess,
  commissary,
];

export const providerDefinitions: ReadonlyMap<string, ProviderDefinition> = new Map(
  all.map((definition) => [definition.manifest.type, definition]),
);
