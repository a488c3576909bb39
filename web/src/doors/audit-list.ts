import type { AuditRecord } from '@lintel/contract/audit';
import { now } from '../ui/clock.ts';
import { el } from '../ui/element.ts';
import { correlation } from '../ui/frame.ts';
import { timeElement } from '../ui/time.ts';

export interface AuditList {
  readonly element: HTMLElement;
  update(events: readonly AuditRecord[]): void;
}

const actorTexts: Readonly<Record<AuditRecord['actor_kind'], string>> = {
  user: 'a person',
  api_key: 'an API key',
  agent: 'an agent',
  guest: 'a guest',
  system: 'the service',
};

export function createAuditList(ownUserId: string): AuditList {
  const list = el('ol', { class: 'events' });
  let shown = '';
  return {
    element: el('section', {}, el('h2', {}, 'Recent activity'), list),
    update(events) {
      const ids = events.map(({ id }) => id).join();
      if (ids === shown) return;
      shown = ids;
      list.replaceChildren(...events.map((event) => eventRow(event, ownUserId)));
    },
  };
}

function eventRow(event: AuditRecord, ownUserId: string): HTMLLIElement {
  return el(
    'li',
    { class: 'event', 'data-outcome': event.outcome },
    el('span', { class: 'outcome' }, event.outcome),
    el(
      'span',
      { class: 'what' },
      whatText(event),
      el('span', { class: 'quiet' }, ` by ${whoText(event, ownUserId)}`),
    ),
    timeElement(event.occurred_at, now()),
    event.correlation_id === null ? null : correlation(event.correlation_id),
  );
}

function whatText({ event_type, details }: AuditRecord): string {
  const { command, resource_name: name } = details;
  const isCommand = event_type === 'entity.action' && typeof command === 'string';
  const verb = capitalized(isCommand ? command : event_type.replaceAll(/[._]/g, ' '));
  return typeof name === 'string' ? `${verb} · ${name}` : verb;
}

function whoText({ actor_kind, actor_user_id }: AuditRecord, ownUserId: string): string {
  return actor_kind === 'user' && actor_user_id === ownUserId ? 'you' : actorTexts[actor_kind];
}

const capitalized = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/^Api\b/, 'API');
