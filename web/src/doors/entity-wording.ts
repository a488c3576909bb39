import type { ActionResult } from '@lintel/contract/actions';
import type { Entity } from '@lintel/contract/entities';

export type EntityKind = 'door' | 'gate' | 'garage' | 'light' | 'switch';
export type EntityStatus = Entity['state']['status'];

/** What there is to press, by name and by what it moves. */
export const operableTypes = 'door,light,switch';

export function kindOf(entity: Pick<Entity, 'entity_type' | 'entry_kind' | 'name'>): EntityKind {
  if (entity.entity_type === 'light' || entity.entity_type === 'switch') return entity.entity_type;
  const description = `${entity.entry_kind ?? ''} ${entity.name ?? ''}`.toLowerCase();
  if (description.includes('garage')) return 'garage';
  return description.includes('gate') ? 'gate' : 'door';
}

export const isEntrance = (kind: EntityKind): boolean => kind !== 'light' && kind !== 'switch';

export function statusText(kind: EntityKind, status: EntityStatus): string {
  if (status === 'unknown') return 'Unknown';
  if (status === 'invalid') return 'Not readable';
  if (isEntrance(kind)) return status === 'open' ? 'Open' : 'Closed';
  return status === 'open' ? 'On' : 'Off';
}

export interface Step {
  readonly actionId: 'switchable.open' | 'switchable.close';
  readonly label: string;
  readonly busy: string;
}

/** What one press does next. From a state nobody knows, opening is what people come for. */
export function nextStep(kind: EntityKind, status: EntityStatus): Step {
  const closes = status === 'open';
  const actionId = closes ? 'switchable.close' : 'switchable.open';
  if (!isEntrance(kind)) {
    return { actionId, label: closes ? 'Turn off' : 'Turn on', busy: 'Switching…' };
  }
  return closes
    ? { actionId, label: 'Close', busy: 'Closing…' }
    : { actionId, label: 'Open', busy: 'Opening…' };
}

/**
 * Says no more than the service knows: a command that was accepted is not yet a door that moved. It speaks of the past,
 * because it stays on the page while the door goes on.
 */
export function resultText(kind: EntityKind, result: ActionResult): string {
  const parts = [outcomeText(kind, result)];
  const closesAfter = result.door_open_duration_seconds;
  if (result.state === 'open' && closesAfter !== undefined && isEntrance(kind))
    parts.push(`Closes by itself after ${closesAfter} s.`);
  if (result.degradation !== undefined) parts.push(result.degradation.message);
  return parts.join(' ');
}

function outcomeText(kind: EntityKind, { state, state_source, latency_ms }: ActionResult): string {
  const time = `in ${latency_ms} ms`;
  if (state_source !== 'observed') return `Accepted ${time}; the device does not report its state.`;
  const isOpen = state === 'open';
  if (isEntrance(kind)) return `${isOpen ? 'Opened' : 'Closed'} ${time}.`;
  return `Turned ${isOpen ? 'on' : 'off'} ${time}.`;
}
