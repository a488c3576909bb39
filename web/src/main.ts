import { joinPage } from './account/join-page.ts';
import { signInPage } from './account/sign-in-page.ts';
import { homePage } from './doors/home-page.ts';
import { button, el } from './ui/element.ts';
import { notice, renderCard } from './ui/frame.ts';
import { problemOf } from './ui/problem.ts';

const pages: Readonly<Record<string, (root: HTMLElement) => Promise<void>>> = {
  '/': homePage,
  '/sign-in': signInPage,
  '/join': joinPage,
};

async function show(root: HTMLElement): Promise<void> {
  const page = pages[location.pathname];
  if (page === undefined) {
    renderCard(
      root,
      'Not found',
      el('p', {}, 'There is no page here. ', el('a', { href: '/' }, 'To the doors')),
    );
    return;
  }
  try {
    await page(root);
  } catch (error) {
    const retry = button('Try again', 'primary', () => location.reload());
    renderCard(root, 'This did not work', notice('bad', problemOf(error).text), retry);
  }
}

const root = document.querySelector<HTMLElement>('#app');
if (root !== null) void show(root);
