import type { Failure } from '../ops.ts';
import type { Delivery } from '../provider.ts';
import type { Confirmation } from './confirmation.ts';
import type { MqttCommand, MqttLink, PublishResult } from './mqtt-link.ts';

/**
 * Publishes once and says what is known afterwards (wire-facts 0 and 9). With a confirmation only the device's own
 * answer is success; without one (the device reports nothing) the broker's acknowledgement is all there can be.
 */
export async function deliver(
  link: MqttLink,
  command: MqttCommand,
  confirmation: Confirmation<Delivery> | null,
): Promise<Delivery> {
  try {
    const result = await link.publish(command);
    return surelyNot(result) ?? (await afterPublish(result, confirmation));
  } finally {
    confirmation?.cancel();
  }
}

/** Null when it has left. */
export function surelyNot(result: PublishResult): Failure | null {
  switch (result.kind) {
    case 'offline':
      return { kind: 'not_sent', reason: 'there is no connection to the broker' };
    case 'expired':
      return { kind: 'not_sent', reason: 'the deadline has passed' };
    case 'no_subscribers':
      return { kind: 'not_sent', reason: 'no device listens to the command topic' };
    case 'rejected':
      return {
        kind: 'refused',
        reason: `the broker refused the command (0x${result.reasonCode.toString(16)})`,
      };
    case 'accepted':
    case 'written':
    case 'unanswered':
      return null;
  }
}

async function afterPublish(
  { kind }: PublishResult,
  confirmation: Confirmation<Delivery> | null,
): Promise<Delivery> {
  if (kind === 'unanswered')
    return confirmation?.current() ?? { kind: 'unknown', reason: 'the broker did not acknowledge' };
  if (confirmation !== null)
    return (await confirmation.answer) ?? { kind: 'unknown', reason: 'the device did not answer in time' };
  if (kind === 'accepted') return { kind: 'delivered', observed: null };
  return { kind: 'unknown', reason: 'nobody acknowledges a command of QoS 0' };
}
