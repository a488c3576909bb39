import type { Queryable, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { Flow, FlowKind, FlowType, UiMessage } from './identity-model.ts';

const columns = sql`
  f.id, f.kind, f.type, f.csrf_hash as "csrfHash", f.request_url as "requestUrl", f.return_to as "returnTo", f.refresh,
  f.identity_id as "identityId", f.messages, f.identifier, f.issued_at as "issuedAt", f.expires_at as "expiresAt",
  f.completed_at as "completedAt"`;

export interface NewFlow {
  readonly id: string;
  readonly kind: FlowKind;
  readonly type: FlowType;
  readonly csrfHash: Buffer | null;
  readonly requestUrl: string;
  readonly returnTo: string | null;
  readonly refresh: boolean;
  readonly identityId: string | null;
  readonly messages: readonly UiMessage[];
  readonly lifetimeSeconds: number;
}

export function insertFlow(db: Queryable, flow: NewFlow): Promise<Flow> {
  return db.one<Flow>(sql`
    insert into identity.flows as f (id, kind, type, csrf_hash, request_url, return_to, refresh, identity_id, messages,
      expires_at)
    values (${flow.id}, ${flow.kind}, ${flow.type}, ${flow.csrfHash}, ${flow.requestUrl}, ${flow.returnTo},
      ${flow.refresh}, ${flow.identityId}, ${JSON.stringify(flow.messages)},
      now() + make_interval(secs => ${flow.lifetimeSeconds}))
    returning ${columns}`);
}

export function findFlow(db: Queryable, kind: FlowKind, id: string): Promise<Flow | null> {
  return db.maybeOne<Flow>(sql`
    select ${columns} from identity.flows f where f.id = ${id} and f.kind = ${kind}`);
}

export function updateFlowMessages(
  db: Queryable,
  id: string,
  messages: readonly UiMessage[],
  identifier: string | null,
): Promise<Flow> {
  return db.one<Flow>(sql`
    update identity.flows f set messages = ${JSON.stringify(messages)}, identifier = ${identifier}
    where f.id = ${id} returning ${columns}`);
}

/** Null when it was used already: of two submissions at once one wins. */
export function completeFlow(tx: Tx, id: string, messages: readonly UiMessage[]): Promise<Flow | null> {
  return tx.maybeOne<Flow>(sql`
    update identity.flows f set completed_at = now(), messages = ${JSON.stringify(messages)}
    where f.id = ${id} and f.completed_at is null returning ${columns}`);
}
