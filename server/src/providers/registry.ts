import { knx } from './knx/knx.provider.ts';
import { mqtt } from './mqtt/mqtt.provider.ts';
import type { ProviderDefinition } from './provider.ts';
import { shellyWebsocket } from './shelly-websocket/shelly-websocket.provider.ts';
import { virtualDemo } from './virtual-demo/virtual-demo.provider.ts';
import { waveshare } from './waveshare/waveshare.provider.ts';

const all: readonly ProviderDefinition[] = [virtualDemo, waveshare, knx, mqtt, shellyWebsocket];

export const providerDefinitions: ReadonlyMap<string, ProviderDefinition> = new Map(
  all.map((definition) => [definition.manifest.type, definition]),
);
