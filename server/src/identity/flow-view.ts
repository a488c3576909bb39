import { toRfc3339 } from '../kernel/clock.ts';
import type { Flow, FlowKind, Identity, UiMessage } from './identity-model.ts';
import { toKratosIdentity } from './kratos-session.ts';

export interface UiText {
  readonly id: number;
  readonly text: string;
  readonly type: string;
  readonly context?: Readonly<Record<string, unknown>>;
}

export interface UiNode {
  readonly type: 'input';
  readonly group: 'default' | 'password';
  readonly attributes: {
    readonly name: string;
    readonly type: string;
    readonly value?: string;
    readonly required?: boolean;
    readonly autocomplete?: string;
    readonly disabled: false;
    readonly node_type: 'input';
  };
  readonly messages: readonly UiText[];
  readonly meta: { readonly label?: UiText };
}

/** The JSON of a flow as Kratos gives it to its clients. */
export interface FlowView {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly ui: {
    readonly action: string;
    readonly method: 'POST';
    readonly nodes: readonly UiNode[];
    readonly messages?: readonly UiText[];
  };
  readonly [member: string]: unknown;
}

export interface ViewContext {
  readonly baseUrl: string;
  /** Masked; empty in api flows, which need none. */
  readonly csrfToken: string;
  /** Whose settings. */
  readonly identity?: Identity;
}

export function toFlowView(flow: Flow, context: ViewContext): FlowView {
  const isDone = flow.completedAt !== null;
  const messages = flow.messages.filter((message) => message.node === undefined).map(toText);
  return {
    id: flow.id,
    type: flow.type,
    organization_id: null,
    issued_at: toRfc3339(flow.issuedAt),
    expires_at: toRfc3339(flow.expiresAt),
    request_url: flow.requestUrl,
    ...(flow.returnTo === null ? {} : { return_to: flow.returnTo }),
    state: flow.kind === 'settings' ? (isDone ? 'success' : 'show_form') : 'choose_method',
    ...membersOfKind(flow, context),
    ui: {
      action: `${context.baseUrl}/self-service/${flow.kind}?flow=${flow.id}`,
      method: 'POST',
      nodes: nodesOf(flow, context.csrfToken),
      ...(messages.length > 0 ? { messages } : {}),
    },
  };
}

function membersOfKind(flow: Flow, { identity, baseUrl }: ViewContext): Record<string, unknown> {
  if (flow.kind === 'login') return { refresh: flow.refresh, requested_aal: 'aal1' };
  return identity === undefined ? {} : { identity: toKratosIdentity(identity, baseUrl) };
}

function nodesOf(flow: Flow, csrfToken: string): UiNode[] {
  const fields = [field('csrf_token', 'hidden', { value: csrfToken }), ...fieldsOf[flow.kind](flow)];
  return fields.map((node) => ({
    ...node,
    messages: flow.messages.filter((message) => message.node === node.attributes.name).map(toText),
  }));
}

const fieldsOf: Readonly<Record<FlowKind, (flow: Flow) => UiNode[]>> = {
  login: (flow) => [
    field('identifier', 'text', {
      value: flow.identifier ?? '',
      label: [1070004, 'E-Mail'],
      autocomplete: 'username',
    }),
    field('password', 'password', { label: [1070001, 'Password'], autocomplete: 'current-password' }),
    submit([1010022, 'Sign in with password']),
  ],
  registration: (flow) => [
    field('traits.email', 'email', {
      value: flow.identifier ?? '',
      label: [1070002, 'E-Mail'],
      autocomplete: 'email',
    }),
    field('traits.name', 'text', { label: [1070002, 'Name'], required: false, autocomplete: 'name' }),
    field('password', 'password', { label: [1070001, 'Password'], autocomplete: 'new-password' }),
    field('transient_payload.code', 'text', { label: [1070002, 'Invitation code'] }),
    submit([1040001, 'Sign up']),
  ],
  settings: () => [
    field('password', 'password', { label: [1070001, 'New password'], autocomplete: 'new-password' }),
    submit([1070003, 'Save']),
  ],
};

interface FieldOptions {
  readonly value?: string;
  readonly label?: readonly [number, string];
  readonly required?: boolean;
  readonly autocomplete?: string;
}

function field(name: string, type: string, options: FieldOptions): UiNode {
  const { label, required = true, ...attributes } = options;
  return {
    type: 'input',
    group: name === 'password' ? 'password' : 'default',
    attributes: { name, type, ...attributes, required, disabled: false, node_type: 'input' },
    messages: [],
    meta: label === undefined ? {} : { label: { id: label[0], text: label[1], type: 'info' } },
  };
}

function submit(label: readonly [number, string]): UiNode {
  const node = field('method', 'submit', { value: 'password', label });
  const { required: _never, ...attributes } = node.attributes;
  return { ...node, group: 'password', attributes };
}

function toText({ node: _node, ...text }: UiMessage): UiText {
  return text;
}
