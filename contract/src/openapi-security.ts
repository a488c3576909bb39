import type { SecurityRequirement, SecurityScheme } from './openapi-types.ts';
import type { AuthKind } from './operation.ts';

export const sessionCookie = 'ory_kratos_session';

export function securitySchemes(brand: string): Record<string, SecurityScheme> {
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: `An API key or an agent’s credential: \`<api base url>_${brand}_<secret>\`.`,
    },
    api_key: {
      type: 'apiKey',
      in: 'header',
      name: 'X-API-Key',
      description: 'The same token, for gateways that keep Authorization to themselves.',
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: sessionCookie,
      description:
        'A browser session of the identity provider. Unsafe methods also need `Sec-Fetch-Site: same-origin` or a matching `Origin`.',
    },
  };
}

const byToken: readonly SecurityRequirement[] = [{ bearer: [] }, { api_key: [] }];
const bySession: readonly SecurityRequirement[] = [{ session: [] }];

/** The first alternative is the usual one; examples use it. */
const requirements: Readonly<Record<AuthKind, readonly SecurityRequirement[]>> = {
  public: [],
  principal: [...byToken, ...bySession],
  session: bySession,
  session_probe: [...bySession, ...byToken, {}],
};

export function securityOf(auth: AuthKind): readonly SecurityRequirement[] {
  return requirements[auth];
}
