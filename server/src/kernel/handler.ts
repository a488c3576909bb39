import type { Body, OperationById, OperationId, Params, Query, Result } from '@lintel/contract/operations';
import type { Call, OrgScope, Principal } from './call.ts';

/** The little of a response that a handler may touch beyond its result. */
export interface ResponseHeaders {
  append(name: string, value: string): void;
}

type IfOrg<Id extends OperationId> = OperationById<Id>['org'] extends 'none'
  ? Record<never, never>
  : { org: OrgScope };
type IfPrincipal<Id extends OperationId> = OperationById<Id>['auth'] extends 'principal'
  ? { principal: Principal }
  : Record<never, never>;

/** What a handler gets. It knows no HTTP, so the same services serve REST, scripts, tools and guest pages. */
export type HandlerInput<Id extends OperationId> = {
  readonly params: Params<Id>;
  readonly query: Query<Id>;
  readonly body: Body<Id>;
  readonly call: Call;
  readonly headers: ResponseHeaders;
} & IfOrg<Id> &
  IfPrincipal<Id>;

export type Handler<Id extends OperationId> = (input: HandlerInput<Id>) => Promise<Result<Id>>;

export type Handlers = { readonly [Id in OperationId]: Handler<Id> };
export type HandlersOf<Id extends OperationId> = Pick<Handlers, Id>;
