import type { ProviderBench } from './bench.ts';
import { go2rtcBenches } from './benches/go2rtc.bench.ts';
import { homeassistantBenches } from './benches/homeassistant.bench.ts';
import { knxBenches } from './benches/knx.bench.ts';
import { mqttBenches } from './benches/mqtt.bench.ts';
import { palgateCloudBenches } from './benches/palgate-cloud.bench.ts';
import { shellyCloudBenches } from './benches/shelly-cloud.bench.ts';
import { shellyWebsocketBenches } from './benches/shelly-websocket.bench.ts';
import { siteBenches } from './benches/site.bench.ts';
import { tasmotaBenches } from './benches/tasmota.bench.ts';
import { virtualDemoBenches } from './benches/virtual-demo.bench.ts';
import { waveshareBenches } from './benches/waveshare.bench.ts';

/** Every provider over every transport, but those that bring their bench along in their own test. */
export const benches: readonly ProviderBench[] = [
  ...virtualDemoBenches,
  ...mqttBenches,
  ...tasmotaBenches,
  ...waveshareBenches,
  ...knxBenches,
  ...shellyWebsocketBenches,
  ...shellyCloudBenches,
  ...homeassistantBenches,
  ...palgateCloudBenches,
  ...go2rtcBenches,
  ...siteBenches,
];
