import type { ProviderDefinition } from '../provider.ts';
import { type TasmotaConfig, tasmotaManifest } from './tasmota.manifest.ts';
import { connectTasmotaHttp } from './tasmota-http.ts';
import { connectTasmotaMqtt } from './tasmota-mqtt.ts';

export const tasmota: ProviderDefinition = {
  manifest: tasmotaManifest,
  connect: (link, context) =>
    (link.config as TasmotaConfig).transport === 'http'
      ? connectTasmotaHttp(link, context)
      : connectTasmotaMqtt(link, context),
};
