// Valid requests for the service itself, the browser session and the caller's own profile.
import type { Recipe } from './scenario.ts';
import { signIn } from './scenario-signin.ts';

type SessionOperation =
  | 'get_backend_status'
  | 'get_auth_whoami'
  | 'get_auth_session'
  | 'get_auth_kratos_identity'
  | 'get_auth_provisioned'
  | 'post_auth_logout'
  | 'post_auth_sign_out'
  | 'get_me_profile'
  | 'patch_me_profile';

/** Of its own, so that the caller's other sessions live on. */
const endingSession: Recipe = {
  prepare: async ({ app, actor }) => ({ headers: await signIn(app, actor.userId) }),
};

const nothingNeeded: Recipe = { prepare: async () => ({}) };

export const sessionScenarios: Readonly<Record<SessionOperation, Recipe>> = {
  get_backend_status: nothingNeeded,
  get_auth_whoami: nothingNeeded,
  get_auth_session: nothingNeeded,
  get_auth_kratos_identity: nothingNeeded,
  get_auth_provisioned: nothingNeeded,
  post_auth_logout: endingSession,
  post_auth_sign_out: endingSession,
  get_me_profile: nothingNeeded,
  patch_me_profile: { prepare: async () => ({ body: { locale: 'de' } }) },
};
