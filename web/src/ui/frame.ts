import { el } from './element.ts';
import { icon } from './icons.ts';

export function brand(): HTMLElement {
  return el('a', { class: 'brand', href: '/' }, icon('lintel'), 'Lintel');
}

/** A page that asks for one thing. */
export function renderCard(root: HTMLElement, title: string, ...content: (Node | string | null)[]): void {
  document.title = `${title} · Lintel`;
  const heading = el('h1', { tabindex: '-1' }, title);
  root.replaceChildren(
    el('main', { class: 'narrow' }, brand(), el('section', { class: 'card' }, heading, ...content)),
  );
}

export function notice(look: 'good' | 'bad' | 'plain', ...content: (Node | string)[]): HTMLElement {
  return el('p', { class: `notice ${look}` }, ...content);
}

export function correlation(id: string): HTMLElement {
  return el(
    'span',
    { class: 'correlation', title: 'The correlation id: it finds this in the audit and the log' },
    id,
  );
}
