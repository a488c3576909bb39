// Previews and executes of one caller: by a request, or past the edge with what the edge made of an earlier request.
import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '../../src/kernel/app-error.ts';
import type { HandlerInput, Handlers } from '../../src/kernel/handler.ts';
import { StaleDecision } from '../../src/kernel/stale-decision.ts';
import { ulid } from '../../src/kernel/ulid.ts';
import { startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts';
import type { ActionCase } from './preview-sites.ts';

export interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface PreviewBench {
  readonly app: TestApp;
  preview(asked: ActionCase): Promise<Reply>;
  execute(asked: ActionCase, proof?: string): Promise<Reply>;
  /** Decisions are made for this instant, so that no minute ends between a preview and its execute. */
  moveTo(nowMs: number): void;
  /** After a change of policies: callers must have been looked at again. */
  forgetCallers(): void;
}

export type PreviewMutant = Pick<TestAppOptions, 'wrapEngine' | 'wrapHandlers'>;

const previewing = new AsyncLocalStorage<true>();
/** For mutants that err in previews only. */
export const isPreview = (): boolean => previewing.getStore() === true;

type PreviewInput = HandlerInput<'preview_entity_action'>;

export async function startPreviewBench(mutant: PreviewMutant = {}): Promise<PreviewBench> {
  const asking = new AsyncLocalStorage<ActionCase>();
  const inputs = new Map<ActionCase['headers'], PreviewInput>();
  let nowMs = 0;
  let served: Handlers | null = null;
  const app = await startTestApp({
    wrapHandlers: (good) => {
      const handlers = mutant.wrapHandlers?.(good) ?? good;
      served = {
        ...handlers,
        preview_entity_action: (input) => {
          const asked = asking.getStore();
          if (asked !== undefined) inputs.set(asked.headers, input);
          return previewing.run(true, () => handlers.preview_entity_action(input));
        },
      };
      return served;
    },
    wrapEngine: (deps) => {
      const frozen = { ...deps, clock: { ...deps.clock, millis: () => nowMs } };
      return mutant.wrapEngine?.(frozen) ?? frozen;
    },
  });
  const handlers = (): Handlers => served as unknown as Handlers;
  return {
    app,
    preview: async (asked) => {
      const direct = pastTheEdge(inputs.get(asked.headers), asked, (input) =>
        handlers().preview_entity_action(input),
      );
      return (await direct) ?? (await asking.run(asked, () => byRequest(app, asked, '/preview')));
    },
    execute: async (asked, proof) => {
      const headers = { 'idempotency-key': ulid(), ...(proof ? { 'x-service-confirm': proof } : {}) };
      const call = { idempotencyKey: headers['idempotency-key'], confirmation: proof ?? null };
      const direct = pastTheEdge(inputs.get(asked.headers), asked, (input) =>
        handlers().execute_entity_action({ ...input, call: { ...input.call, ...call } }),
      );
      return (await direct) ?? (await byRequest(app, asked, '', headers));
    },
    moveTo: (instant) => {
      nowMs = instant;
    },
    forgetCallers: () => inputs.clear(),
  };
}

function byRequest(
  app: TestApp,
  { entityId, action, headers, body }: ActionCase,
  path: string,
  more: Record<string, string> = {},
): Promise<Reply> {
  const all = { ...headers, ...more };
  return app.request('POST', `/entities/${entityId}/actions/${action}${path}`, { body, headers: all });
}

/** Null where only a request will do: nothing is known of the caller, or the edge would let it start over. */
function pastTheEdge(
  known: PreviewInput | undefined,
  { entityId, action, body, isByRequest }: ActionCase,
  work: (input: PreviewInput) => Promise<object>,
): Promise<Reply | null> | null {
  if (known === undefined || isByRequest) return null;
  const call = { ...known.call, correlationId: ulid() };
  const input = { ...known, call, params: { id: entityId, action_id: action }, body };
  return replyOf(work(input));
}

async function replyOf(result: Promise<object>): Promise<Reply | null> {
  try {
    return { status: 200, body: { ...(await result) } };
  } catch (error) {
    if (error instanceof StaleDecision) return null;
    if (!(error instanceof AppError)) throw error;
    return { status: error.status, body: { code: error.code, message: error.message } };
  }
}
