import type { Entity } from '@lintel/contract/entities';
import { now } from '../ui/clock.ts';
import { el, setAttribute, setText } from '../ui/element.ts';
import { correlation } from '../ui/frame.ts';
import { icon } from '../ui/icons.ts';
import { timeElement } from '../ui/time.ts';
import { type EntityKind, kindOf, nextStep, type Step, statusText } from './entity-wording.ts';
import type { PressOutcome } from './press.ts';

export interface EntityRow {
  readonly element: HTMLLIElement;
  update(entity: Entity): void;
}

export type Press = (entity: Entity, kind: EntityKind, step: Step) => Promise<PressOutcome>;

/** After its meaning changed, the button rests: the second half of a double click must not close what the first opened. */
const restMs = 700;

export function createEntityRow(first: Entity, press: Press | null): EntityRow {
  const kind = kindOf(first);
  const name = el('span', { class: 'name' });
  const status = createStatus(kind);
  const result = el('p', { class: 'result', role: 'status' });
  const control = press === null ? null : createControl(kind, press, result);
  const element = el(
    'li',
    { class: 'entity', 'data-id': first.id },
    el('span', { class: 'badge' }, icon(kind)),
    el('div', { class: 'what' }, name, status.element),
    control?.element ?? null,
    result,
  );

  function update(entity: Entity): void {
    setText(name, entity.name ?? 'Without a name');
    setAttribute(element, 'data-status', entity.state.status);
    status.update(entity.state);
    control?.update(entity);
  }

  update(first);
  return { element, update };
}

function createStatus(kind: EntityKind) {
  const text = el('span', { class: 'status' });
  const since = el('span', { class: 'quiet' });
  let shown: string | undefined;
  return {
    element: el('span', { class: 'state' }, text, since),
    update(state: Entity['state']): void {
      setText(text, statusText(kind, state.status));
      if (shown === state.observed_at) return;
      shown = state.observed_at;
      since.replaceChildren(...(shown === undefined ? [] : [' since ', timeElement(shown, now())]));
    },
  };
}

function createControl(kind: EntityKind, press: Press, result: HTMLElement) {
  const element = el('button', { type: 'button', class: 'action' });
  let entity: Entity;
  let step: Step | null = null;
  let isPressed = false;
  let isResting = false;

  function draw(): void {
    const label = isPressed ? step?.busy : step?.label;
    setText(element, label ?? '');
    setAttribute(element, 'aria-label', `${label} ${entity.name ?? ''}`.trim());
    setAttribute(element, 'aria-disabled', isPressed || isResting ? 'true' : null);
    setAttribute(element, 'aria-busy', isPressed ? 'true' : null);
  }

  function rest(): void {
    isResting = true;
    window.setTimeout(() => {
      isResting = false;
      draw();
    }, restMs);
  }

  function update(next: Entity): void {
    entity = next;
    const following = nextStep(kind, next.state.status);
    if (!isPressed && following.actionId !== step?.actionId) {
      if (step !== null) rest();
      step = following;
    }
    draw();
  }

  async function run(chosen: Step): Promise<void> {
    isPressed = true;
    draw();
    result.replaceChildren();
    const outcome = await press(entity, kind, chosen);
    isPressed = false;
    showOutcome(result, outcome);
    update(entity);
  }

  element.addEventListener('click', () => {
    if (step !== null && !isPressed && !isResting) void run(step);
  });
  return { element, update };
}

function showOutcome(result: HTMLElement, { isGood, text, correlationId }: PressOutcome): void {
  result.className = `result ${isGood ? 'good' : 'bad'}`;
  result.replaceChildren(text, ...(correlationId === null ? [] : [' ', correlation(correlationId)]));
}
