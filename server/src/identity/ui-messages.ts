import type { UiMessage } from './identity-model.ts';
import { maxPasswordLength, minPasswordLength, type PasswordProblem } from './password.rules.ts';

// Text ids of Ory Kratos: clients match on the number.

export const invalidCredentials: UiMessage = {
  id: 4000006,
  text: 'The provided credentials are invalid, check for spelling mistakes in your password or username, email address, or phone number.',
  type: 'error',
  context: {},
};

export const duplicateAddress: UiMessage = {
  id: 4000007,
  text: 'An account with the same identifier (email, phone, username, ...) exists already.',
  type: 'error',
  context: {},
};

export const changesSaved: UiMessage = {
  id: 1050001,
  text: 'Your changes have been saved!',
  type: 'success',
};

export function required(property: string): UiMessage {
  const text = `Property ${property} is missing.`;
  return { id: 4000002, text, type: 'error', context: { property }, node: property };
}

export function generic(reason: string, node?: string): UiMessage {
  return { id: 4000001, text: reason, type: 'error', context: { reason }, ...(node ? { node } : {}) };
}

export function invalidFormat(node: string, format: string): UiMessage {
  const context = { expected_format: format };
  return { id: 4000004, text: `This is not a valid ${format}.`, type: 'error', context, node };
}

export function tooManyAttempts(seconds: number): UiMessage {
  return generic(`Too many attempts. Wait ${seconds} seconds, then try again.`);
}

const noStrategyIds = { login: 4010002, registration: 4010003, settings: 4010004 } as const;

export function noStrategy(kind: keyof typeof noStrategyIds): UiMessage {
  const text = 'Could not find any strategy for this method. Use the method "password".';
  return { id: noStrategyIds[kind], text, type: 'error' };
}

const expiredIds = { login: 4010001, registration: 4040001, settings: 4050001 } as const;

export function flowExpired(kind: keyof typeof expiredIds): UiMessage {
  return { id: expiredIds[kind], text: `The ${kind} flow expired, please try again.`, type: 'error' };
}

const passwordTexts: Readonly<Record<PasswordProblem, { id: number; text: string }>> = {
  too_short: {
    id: 4000032,
    text: `The password must be at least ${minPasswordLength} characters long.`,
  },
  too_long: { id: 4000033, text: `The password must be at most ${maxPasswordLength} characters long.` },
  like_the_address: {
    id: 4000031,
    text: 'The password can not be used because it is too similar to the identifier.',
  },
  too_common: { id: 4000005, text: 'The password can not be used because it is far too common.' },
};

export function passwordRefused(problem: PasswordProblem): UiMessage {
  return { ...passwordTexts[problem], type: 'error', node: 'password' };
}
