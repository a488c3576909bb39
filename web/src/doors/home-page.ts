import { ApiCallError } from '@lintel/contract/client';
import type { Result } from '@lintel/contract/operations';
import type { Organization } from '@lintel/contract/orgs';
import { passwordCard } from '../account/password-card.ts';
import { readSession, type Session, signOut } from '../account/session.ts';
import { api, inTime } from '../api.ts';
import { button, el } from '../ui/element.ts';
import { brand, notice, renderCard } from '../ui/frame.ts';
import { localized } from '../ui/localized-text.ts';
import { chooseOrg, rememberOrg } from './chosen-org.ts';
import { createOrgView, type OrgView } from './org-view.ts';

type Profile = Result<'get_me_profile'>;

export async function homePage(root: HTMLElement): Promise<void> {
  const session = await readSession();
  if (session === null) {
    location.replace('/sign-in');
    return;
  }
  const profile = await readProfile();
  const orgs = profile === null ? [] : await readOrgs();
  const chosen = await chooseOrg(orgs);
  if (profile === null || chosen === undefined) renderStranger(root, session);
  else await renderHome(root, session, profile, orgs, chosen);
}

/** Null for somebody the identity provider knows and this service does not. */
async function readProfile(): Promise<Profile | null> {
  try {
    return await api('get_me_profile', { signal: inTime() });
  } catch (error) {
    if (error instanceof ApiCallError && error.status === 401) return null;
    throw error;
  }
}

async function readOrgs(): Promise<readonly Organization[]> {
  return (await api('list_orgs', { query: { limit: 200 }, signal: inTime() })).items;
}

function renderStranger(root: HTMLElement, session: Session): void {
  renderCard(
    root,
    'Not a member yet',
    notice(
      'plain',
      'You are signed in as ',
      el('strong', {}, session.email),
      ', but belong to no organization.',
    ),
    el('p', { class: 'quiet' }, 'Open the link of your invitation, or ask for one.'),
    signOutButton(),
  );
}

async function renderHome(
  root: HTMLElement,
  session: Session,
  profile: Profile,
  orgs: readonly Organization[],
  first: Organization,
): Promise<void> {
  const place = el('div');
  const stage = createStage(place, profile.user_id);
  const switcher = orgs.length > 1 ? createSwitcher(orgs, first, stage.show) : null;
  const who = el('span', { class: 'who', title: profile.email }, localized(profile.name) || profile.email);
  const header = el('header', { class: 'bar' }, brand(), switcher, who, signOutButton(stage.stop));
  await stage.show(first);
  root.replaceChildren(header, passwordCard(session) ?? '', place);
}

/** Shows one organization at a time: the one that was chosen last, whichever answers first. */
function createStage(place: HTMLElement, ownUserId: string) {
  let shown: OrgView | null = null;
  let wanted: Organization | null = null;
  return {
    show: async (org: Organization): Promise<void> => {
      wanted = org;
      const view = await createOrgView(org, ownUserId);
      if (wanted !== org) return view.stop();
      shown?.stop();
      shown = view;
      document.title = `${localized(org.name)} · Lintel`;
      place.replaceChildren(view.element);
    },
    stop: (): void => {
      wanted = null;
      shown?.stop();
    },
  };
}

function createSwitcher(
  orgs: readonly Organization[],
  first: Organization,
  show: (org: Organization) => Promise<void>,
): HTMLElement {
  const options = orgs.map((org) =>
    el('option', { value: org.id, selected: org.id === first.id }, localized(org.name)),
  );
  const select = el('select', { 'aria-label': 'Organization', name: 'org' }, ...options);
  select.addEventListener('change', () => {
    const org = orgs.find(({ id }) => id === select.value);
    if (org === undefined) return;
    rememberOrg(org.id);
    // The reload shows the organization, or what is in the way.
    show(org).catch(() => location.reload());
  });
  return select;
}

/** `stop`: whoever goes on asking after the session has ended is refused. */
function signOutButton(stop: () => void = () => undefined): HTMLButtonElement {
  // When it failed, the sign-in page finds the session still there and leads back.
  const leave = () => location.replace('/sign-in');
  return button('Sign out', 'secondary', () => {
    stop();
    void signOut().then(leave, leave);
  });
}
