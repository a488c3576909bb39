import { createHash } from 'node:crypto';
import { type Html, html, styleElement, textOf } from '@lintel/contract/html';
import type { FlowView, UiNode } from '../identity/flow-view.ts';
import type { FlowKind } from '../identity/identity-model.ts';

// The provider's own pages: plain forms, no script. They serve browsers that follow redirects instead of calling flows.

const css = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { width: min(22rem, 90vw); padding: 2rem 0; }
h1 { font-size: 1.4rem; margin: 0 0 1rem; }
label { display: block; margin: 0 0 1rem; }
input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .5rem; margin-top: .25rem; }
button { font: inherit; font-weight: 600; width: 100%; padding: .7rem; border: 0; border-radius: .4rem; cursor: pointer; background: #1f5eff; color: #fff; }
button:focus-visible, input:focus-visible { outline: 3px solid #8fb0ff; outline-offset: 2px; }
.error { color: #c62828; } .success { color: #1b7f3b; }
@media (prefers-color-scheme: dark) { .error { color: #ff8a80; } .success { color: #7be09b; } }
`;
const styleHash = createHash('sha256').update(css).digest('base64');

/** Headers of a page. Only the own style may load, and forms go to this service alone. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  // Not no-referrer: browsers then send `Origin: null`, and plain http has no Sec-Fetch-Site to prove the origin by.
  'referrer-policy': 'same-origin',
  'x-robots-tag': 'noindex',
};

const titles: Readonly<Record<FlowKind, string>> = {
  login: 'Sign in to Lintel',
  registration: 'Create your account',
  settings: 'Change your password',
};

export function flowPage(kind: FlowKind, view: FlowView, code: string | null): string {
  const messages = (view.ui.messages ?? []).map(({ type, text }) => note(type, text));
  const fields = view.ui.nodes.map((node) => fieldOf(node, code));
  return page(
    titles[kind],
    html`${messages}<form method="post" action="${pathOf(view.ui.action)}">${fields}</form>`,
  );
}

/** Relative, so that the form stays with the host the browser came by. */
function pathOf(action: string): string {
  const { pathname, search } = new URL(action);
  return `${pathname}${search}`;
}

function fieldOf(node: UiNode, code: string | null): Html {
  const { name, type, value = '', required, autocomplete = 'off' } = node.attributes;
  const label = node.meta.label?.text ?? name;
  if (type === 'submit') return html`<button type="submit" name="${name}" value="${value}">${label}</button>`;
  if (type === 'hidden') return html`<input type="hidden" name="${name}" value="${value}">`;
  const shown = name === 'transient_payload.code' && code !== null ? code : value;
  const mark = required ? html` required` : '';
  const messages = node.messages.map((message) => note(message.type, message.text));
  return html`<label>${label}<input type="${type}" name="${name}" value="${shown}" autocomplete="${autocomplete}"${mark}></label>${messages}`;
}

export function signInPage(code: string): string {
  return page(
    'Sign in to Lintel',
    html`<form method="post" action="/identity/sign-in"><input type="hidden" name="code" value="${code}">
<button type="submit">Sign in to Lintel</button></form><p>This link works once.</p>`,
  );
}

export function spentLinkPage(): string {
  const way = html`<a href="/identity/self-service/login/browser">Sign in with a password</a>`;
  return page(
    'This link does not work any more',
    html`<p>It was used already, or is older than a day. Ask for a new one, or: ${way}.</p>`,
  );
}

export function errorPage(title: string, reason: string): string {
  const again = html`<a href="/identity/self-service/login/browser">Start again</a>`;
  return page(title, html`<p class="error">${reason}</p><p>${again}</p>`);
}

function note(type: string, text: string): Html {
  return html`<p class="${type}" role="${type === 'error' ? 'alert' : 'status'}">${text}</p>`;
}

function page(title: string, body: Html): string {
  const head = html`<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>${styleElement(css)}`;
  return `<!doctype html>${textOf(html`<html lang="en"><head>${head}</head><body><main><h1>${title}</h1>${body}</main></body></html>`)}`;
}
