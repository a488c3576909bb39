import { button, el } from '../ui/element.ts';
import { notice } from '../ui/frame.ts';
import { passwordForm } from './credential-forms.ts';
import type { Session } from './session.ts';

const storageKey = 'lintel.password-settled';

/** For who came by a one-time link: the next visit needs a password. Null for everybody else. */
export function passwordCard(session: Session): HTMLElement | null {
  if (!session.isByLink || sessionStorage.getItem(storageKey) === session.id) return null;
  const settle = () => sessionStorage.setItem(storageKey, session.id);
  const card = el('section', { class: 'card strip', 'aria-label': 'Password' });

  function showForm(): void {
    const form = passwordForm(() => {
      settle();
      showDone(card, session.email);
    });
    card.replaceChildren(form);
    form.querySelector('input')?.focus();
  }

  function dismiss(): void {
    settle();
    card.remove();
  }

  const text = el('p', {}, 'The link that brought you here worked once. With a password you can come back.');
  const choices = [button('Set a password', 'primary', showForm), button('Not now', 'secondary', dismiss)];
  card.append(el('div', { class: 'row' }, text, ...choices));
  return card;
}

function showDone(card: HTMLElement, email: string): void {
  const done = notice('good', 'The password is set. Next time, sign in with ', el('strong', {}, email), '.');
  done.setAttribute('role', 'status');
  card.replaceChildren(done);
}
