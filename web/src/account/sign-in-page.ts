import { el } from '../ui/element.ts';
import { renderCard } from '../ui/frame.ts';
import { signInForm } from './credential-forms.ts';
import { readSession } from './session.ts';

export async function signInPage(root: HTMLElement): Promise<void> {
  if ((await readSession()) !== null) {
    location.replace('/');
    return;
  }
  const form = signInForm(() => location.replace('/'));
  const help = el(
    'p',
    { class: 'quiet' },
    'No password yet? Ask whoever runs this service for a sign-in link.',
  );
  renderCard(root, 'Sign in', form, help);
  form.querySelector('input')?.focus();
}
