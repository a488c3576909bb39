import { createForm, type Field } from '../ui/form.ts';
import { runFlow } from './identity-flow.ts';

const minPasswordLength = 8;

const newPassword: Field = {
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'new-password',
  hint: `At least ${minPasswordLength} characters. A few words are fine.`,
  minLength: minPasswordLength,
};

type Done = () => Promise<void> | void;

/** Submits a flow and goes on when it went well. */
async function runAndGoOn(
  kind: Parameters<typeof runFlow>[0],
  values: Record<string, unknown>,
  onDone: Done,
) {
  const problem = await runFlow(kind, values);
  if (problem === null) await onDone();
  return problem;
}

export function signInForm(onDone: Done): HTMLFormElement {
  return createForm({
    fields: [
      { name: 'identifier', label: 'E-mail address', type: 'email', autocomplete: 'username' },
      { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
    ],
    submit: 'Sign in',
    busy: 'Signing in…',
    onSubmit: ({ identifier, password }) => runAndGoOn('login', { identifier, password }, onDone),
  });
}

/** Only who was invited can register: the invitation's token is the proof. */
export function registrationForm(invitationToken: string, onDone: Done): HTMLFormElement {
  return createForm({
    fields: [
      {
        name: 'traits.email',
        label: 'E-mail address',
        type: 'email',
        autocomplete: 'username',
        hint: 'The one the invitation was made for.',
      },
      { name: 'traits.name', label: 'Name', type: 'text', autocomplete: 'name', optional: true },
      newPassword,
    ],
    submit: 'Create account',
    busy: 'Creating…',
    onSubmit: ({ 'traits.email': email, 'traits.name': name, password }) => {
      const traits = { email, ...(name ? { name } : {}) };
      const payload = { traits, password, transient_payload: { code: invitationToken } };
      return runAndGoOn('registration', payload, onDone);
    },
  });
}

export function passwordForm(onDone: Done): HTMLFormElement {
  return createForm({
    fields: [{ ...newPassword, label: 'New password' }],
    submit: 'Set password',
    busy: 'Saving…',
    onSubmit: ({ password }) => runAndGoOn('settings', { password }, onDone),
  });
}
