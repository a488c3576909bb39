import { ApiCallError } from '@lintel/contract/client';
import type { Organization } from '@lintel/contract/orgs';
import { api, inTime } from '../api.ts';
import { el, setText } from '../ui/element.ts';
import { notice } from '../ui/frame.ts';
import { localized } from '../ui/localized-text.ts';
import { type Poll, pollWhileVisible } from '../ui/poll.ts';
import { problemOf } from '../ui/problem.ts';
import { createAuditList } from './audit-list.ts';
import { createEntityList } from './entity-list.ts';
import { operableTypes } from './entity-wording.ts';
import { type OrgAccess, readAccess } from './org-access.ts';
import { press } from './press.ts';

const refreshMs = 2000;
const shownEvents = 10;

export interface OrgView {
  readonly element: HTMLElement;
  stop(): void;
}

export async function createOrgView(org: Organization, ownUserId: string): Promise<OrgView> {
  const access = await readAccess(org.id);
  const heading = el('h1', { tabindex: '-1' }, localized(org.name));
  const description = org.description === null ? null : el('p', { class: 'quiet' }, org.description);
  const live = access.mayList ? createLivePart(org, access, ownUserId) : null;
  const content = live?.parts ?? [
    notice('plain', 'You have no right to see the doors of this organization.'),
  ];
  return {
    element: el('main', { class: 'wide' }, heading, description, ...content),
    stop: () => live?.stop(),
  };
}

function createLivePart(org: Organization, access: OrgAccess, ownUserId: string) {
  let poll: Poll | null = null;
  const entities = createEntityList(
    access.mayAct
      ? async (entity, kind, step) => {
          const outcome = await press(org.id, entity, kind, step);
          poll?.now();
          return outcome;
        }
      : null,
  );
  const events = access.mayReadAudit ? createAuditList(ownUserId) : null;
  const trouble = el('p', { class: 'notice bad', role: 'status', hidden: true });

  async function refresh(stopped: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([stopped, inTime()]);
    const headers = { 'x-org': org.id };
    const query = { entity_type: operableTypes, limit: 200 };
    const [page, audit] = await Promise.all([
      api('list_entities', { query, headers, signal }),
      events && api('list_audit_events', { ...auditInput(org.id), signal }),
    ]);
    entities.update(page.items, page.total);
    if (audit !== null) events?.update(audit.items);
  }

  poll = pollWhileVisible((stopped) => showTrouble(trouble, stopped, refresh), refreshMs);
  return {
    parts: [trouble, entities.element, ...(events ? [events.element] : [])],
    stop: () => poll?.stop(),
  };
}

function auditInput(orgId: string) {
  return {
    params: { org_id: orgId },
    query: { limit: shownEvents, org_scope: 'self' as const },
  };
}

/** What is on the page stays, but nobody may take it for the present. */
async function showTrouble(
  trouble: HTMLElement,
  stopped: AbortSignal,
  work: (stopped: AbortSignal) => Promise<void>,
): Promise<void> {
  try {
    await work(stopped);
    trouble.hidden = true;
  } catch (error) {
    if (stopped.aborted) return;
    if (error instanceof ApiCallError && error.status === 401) location.replace('/sign-in');
    setText(trouble, `${problemOf(error).text} What you see may be out of date.`);
    trouble.hidden = false;
  }
}
