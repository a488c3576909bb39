import { tested } from '../ops.ts';
import type { OpResult } from '../provider.ts';
import type { MqttLink } from './mqtt-link.ts';

/** The connection is kept by pings every few seconds, so it tells the truth without a question of its own. */
export function testBroker(broker: MqttLink): OpResult {
  if (!broker.connected()) return tested('error', 'there is no connection to the broker');
  if (broker.undisturbed()) return tested('ok', 'the broker has let us in and grants every subscription');
  return tested('reduced', 'the broker refuses a subscription, or keeps a retained command');
}
