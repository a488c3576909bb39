import type { HandlersOf } from '../../kernel/handler.ts';
import type { WhatIfService } from './what-if.service.ts';

export function whatIfRoutes(whatIf: WhatIfService): HandlersOf<'get_policies_what_if'> {
  return {
    get_policies_what_if: ({ org, principal, query }) =>
      whatIf.ask(org, principal, {
        entityId: query.entity_id ?? null,
        at: query.at ?? null,
        draft: query.draft ?? null,
      }),
  };
}
