import { type FormProblem, wholeProblem } from '../ui/form.ts';

/** The provider's own self-service flows, as Ory Kratos has them. */
export type FlowKind = 'login' | 'registration' | 'settings';

interface UiText {
  readonly id: number;
  readonly text: string;
}

interface FlowView {
  readonly ui: {
    readonly action: string;
    readonly messages?: readonly UiText[];
    readonly nodes: readonly {
      readonly attributes: { readonly name?: string; readonly value?: unknown };
      readonly messages: readonly UiText[];
    }[];
  };
}

interface FlowFailure {
  readonly error?: { readonly id?: string; readonly message?: string; readonly reason?: string };
}

const base = '/identity/self-service';
const headers = { accept: 'application/json', 'content-type': 'application/json' };

/** The texts of Kratos speak to every kind of account; ours have an address and a password. */
const wordings: Readonly<Record<number, string>> = {
  4000006: 'The e-mail address or the password is wrong.',
  4000007: 'There is an account with this address already. Sign in with it.',
};

/**
 * Begins a flow and submits it at once, so that it can not expire under a form that stood open for a day.
 * Null when it went well.
 */
export async function runFlow(
  kind: FlowKind,
  values: Readonly<Record<string, unknown>>,
): Promise<FormProblem | null> {
  const begun = await fetch(`${base}/${kind}/browser`, { headers });
  if (begun.status === 404)
    return wholeProblem('Accounts of this service are kept by another identity provider.');
  const view: unknown = await begun.json();
  if (!begun.ok || !isFlow(view)) return failureOf(view);
  // The action names the public address; the page may be open under another name of the same host.
  const { pathname, search } = new URL(view.ui.action, location.href);
  const answer = await fetch(`${pathname}${search}`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ method: 'password', csrf_token: csrfTokenOf(view), ...values }),
  });
  if (answer.ok) return null;
  const refused: unknown = await answer.json();
  return isFlow(refused) ? problemOfFlow(refused) : failureOf(refused);
}

function csrfTokenOf({ ui }: FlowView): unknown {
  return ui.nodes.find(({ attributes }) => attributes.name === 'csrf_token')?.attributes.value;
}

function problemOfFlow({ ui }: FlowView): FormProblem {
  const faulty = ui.nodes.filter(({ messages }) => messages.length > 0);
  const fields = Object.fromEntries(
    faulty.map(({ attributes, messages }) => [attributes.name ?? '', textOf(messages)]),
  );
  const messages = ui.messages ?? [];
  if (messages.length === 0 && faulty.length === 0) return wholeProblem('This was refused without a reason.');
  return { message: messages.length === 0 ? null : textOf(messages), fields };
}

function textOf(messages: readonly UiText[]): string {
  return messages.map(({ id, text }) => wordings[id] ?? text).join(' ');
}

function failureOf(body: unknown): FormProblem {
  const { error } = (body ?? {}) as FlowFailure;
  if (error?.id === 'session_already_available')
    return wholeProblem('You are signed in already. Reload the page.');
  return wholeProblem(error?.reason ?? error?.message ?? 'The service can not be reached.');
}

function isFlow(body: unknown): body is FlowView {
  return typeof body === 'object' && body !== null && 'ui' in body;
}
