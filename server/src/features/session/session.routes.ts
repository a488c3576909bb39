import { AppError } from '../../kernel/app-error.ts';
import type { HandlerInput, HandlersOf } from '../../kernel/handler.ts';
import type { SessionService } from './session.service.ts';

type Probes = 'get_auth_whoami' | 'get_auth_session' | 'get_auth_kratos_identity';
type Ids = Probes | 'get_auth_provisioned' | 'post_auth_logout' | 'post_auth_sign_out';

/** The provider's record as it is; null without a session, also for a caller with a valid key. */
const readRecord = async ({ call }: HandlerInput<Probes>) => call.session?.record ?? null;

export function sessionRoutes(sessions: SessionService): HandlersOf<Ids> {
  const logout = async ({
    call,
    headers,
  }: HandlerInput<'post_auth_logout'> | HandlerInput<'post_auth_sign_out'>) => {
    for (const line of await sessions.logout(call)) headers.append('set-cookie', line);
    return undefined;
  };
  return {
    get_auth_whoami: readRecord,
    get_auth_session: readRecord,
    get_auth_kratos_identity: readRecord,
    get_auth_provisioned: async ({ call }) => {
      if (call.principal === null)
        throw new AppError('unauthorized', 'the caller is no user of this service');
    },
    post_auth_logout: logout,
    post_auth_sign_out: logout,
  };
}
