import type { Engine } from '../../engine/engine.ts';
import type { HandlersOf } from '../../kernel/handler.ts';

export function actionRoutes(engine: Engine): HandlersOf<'execute_entity_action' | 'preview_entity_action'> {
  return {
    execute_entity_action: ({ call, org, params, body }) =>
      engine.execute(call, org, { entityId: params.id, actionId: params.action_id, payload: body }),
    preview_entity_action: ({ org, principal, params, body }) =>
      engine.preview(org, principal, { entityId: params.id, actionId: params.action_id, payload: body }),
  };
}
