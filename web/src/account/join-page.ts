import { ApiCallError } from '@lintel/contract/client';
import type { Result } from '@lintel/contract/operations';
import { api, inTime } from '../api.ts';
import { rememberOrg } from '../doors/chosen-org.ts';
import { button, el } from '../ui/element.ts';
import { createForm, type FormProblem } from '../ui/form.ts';
import { notice, renderCard } from '../ui/frame.ts';
import { localized } from '../ui/localized-text.ts';
import { registrationForm, signInForm } from './credential-forms.ts';
import { readSession, type Session, signOut } from './session.ts';

type Preview = Result<'preview_invitation'>;

const closedTexts: Readonly<Record<Exclude<Preview['status'], 'pending'>, string>> = {
  redeemed: 'This invitation was used already.',
  cancelled: 'This invitation was cancelled. Ask for a new one.',
  expired: 'This invitation has expired. Ask for a new one.',
};

/** The token stands behind the #, where no server and no log sees it. */
export async function joinPage(root: HTMLElement): Promise<void> {
  window.addEventListener('hashchange', () => location.reload());
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
  const preview = await readPreview(token);
  if (preview === null) {
    renderCard(root, 'Invitation', notice('bad', 'This link is not complete or not valid any more.'));
    return;
  }
  if (preview.status !== 'pending') {
    renderCard(root, 'Invitation', notice('bad', closedTexts[preview.status]));
    return;
  }
  await showStep(root, token, preview);
}

async function readPreview(token: string): Promise<Preview | null> {
  try {
    return await api('preview_invitation', { body: { token }, signal: inTime() });
  } catch (error) {
    const isUnknown = error instanceof ApiCallError && (error.status === 404 || error.status === 400);
    if (isUnknown) return null;
    throw error;
  }
}

/** First an account, then the PIN. */
async function showStep(root: HTMLElement, token: string, preview: Preview): Promise<void> {
  const session = await readSession();
  const title = `Join ${localized(preview.org_name)}`;
  const goOn = () => showStep(root, token, preview);
  const content = session === null ? accountStep(token, preview, goOn) : pinStep(token, session, goOn);
  renderCard(root, title, ...content);
  root.querySelector('h1')?.focus();
}

function accountStep(token: string, preview: Preview, goOn: () => Promise<void>): HTMLElement[] {
  const choice = el('div', { class: 'choice' });
  const show = (isNew: boolean) => {
    const form = isNew ? registrationForm(token, goOn) : signInForm(goOn);
    const other = button(isNew ? 'I have an account' : 'I am new here', 'link', () => show(!isNew));
    const heading = el('h2', {}, isNew ? 'Create your account' : 'Sign in');
    choice.replaceChildren(heading, form, other);
  };
  show(true);
  const target = el('strong', {}, preview.target_masked);
  return [el('p', {}, 'The invitation was made for ', target, '.'), choice];
}

function pinStep(token: string, session: Session, goOn: () => Promise<void>): HTMLElement[] {
  const form = createForm({
    fields: [
      {
        name: 'pin',
        label: 'PIN',
        type: 'text',
        numeric: true,
        autocomplete: 'one-time-code',
        hint: 'It came separately from the link. The fifth wrong one ends the invitation.',
      },
    ],
    submit: 'Join',
    busy: 'Joining…',
    onSubmit: (values) => redeem(token, values.pin ?? ''),
  });
  const other = button('Use another account', 'link', () => void signOut().then(goOn, goOn));
  return [el('p', {}, 'You are signed in as ', el('strong', {}, session.email), '.'), form, other];
}

async function redeem(token: string, pin: string): Promise<FormProblem | null> {
  try {
    const { org_id } = await api('redeem_invitation', { body: { token, pin: pin.trim() }, signal: inTime() });
    rememberOrg(org_id);
    location.replace('/');
    return null;
  } catch (error) {
    if (!(error instanceof ApiCallError)) throw error;
    if (error.code === 'wrong_pin') return { message: null, fields: { pin: 'This PIN is wrong.' } };
    if (error.code === 'validation_error')
      return { message: null, fields: { pin: 'A PIN has 4 to 12 characters.' } };
    if (error.code === 'not_found')
      return { message: 'This invitation was made for another address than yours.', fields: {} };
    throw error;
  }
}
