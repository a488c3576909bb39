import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Delivery, EntityBinding, Verb } from '../providers/provider.ts';
import type { BusReply } from './node-bus.ts';

/** What is asked of a connection that another node holds. */
export interface NodeRequest {
  readonly orgId: string;
  readonly integrationId: string;
  readonly providerType: string;
  readonly config: Record<string, unknown>;
  /** Of the lease, as the sender saw it: the fencing token. */
  readonly epoch: number;
  /** By the database's time, in milliseconds since 1970. Nothing is sent after it. */
  readonly notAfterMs: number;
}

export interface NodeCommand extends NodeRequest {
  readonly verb: Verb;
  readonly intentId: string;
  readonly entity: EntityBinding;
  readonly pulseSeconds: number | null;
}

export interface NodeOp extends NodeRequest {
  /** Locked: the input and the answer of an op may be secret. */
  readonly op: string;
}

export interface Moved {
  readonly kind: 'moved';
}

/** `moved`: the asked node does not hold that lease (any more), and nothing was sent. */
export type NodeAnswer = Delivery | Moved;
export type NodeOpAnswer = { readonly kind: 'op'; readonly answer: string } | Moved;

const text = Type.String();
const record = Type.Record(text, Type.Unknown());

/** Open objects: in a rolling update the other node may be newer. */
const lease = {
  orgId: text,
  integrationId: text,
  providerType: text,
  config: record,
  epoch: Type.Integer(),
  notAfterMs: Type.Number(),
};
const command = Compile(
  Type.Object({
    ...lease,
    verb: Type.Union([Type.Literal('open'), Type.Literal('close'), Type.Literal('toggle')]),
    intentId: text,
    entity: Type.Object({
      entityId: text,
      entityType: text,
      externalId: Type.Union([text, Type.Null()]),
      metadata: Type.Record(text, text),
      deviceId: text,
      deviceExternalId: Type.Union([text, Type.Null()]),
      deviceMetadata: record,
    }),
    pulseSeconds: Type.Union([Type.Number(), Type.Null()]),
  }),
);

const observed = Type.Union([
  Type.Literal('open'),
  Type.Literal('closed'),
  Type.Literal('unknown'),
  Type.Null(),
]);
const op = Compile(Type.Object({ ...lease, op: text }));

const movedAnswer = Type.Object({ kind: Type.Literal('moved') });
const answer = Compile(
  Type.Union([
    Type.Object({ kind: Type.Literal('delivered'), observed }),
    Type.Object({
      kind: Type.Union([Type.Literal('refused'), Type.Literal('not_sent'), Type.Literal('unknown')]),
      reason: text,
    }),
    movedAnswer,
  ]),
);

const opAnswer = Compile(Type.Union([Type.Object({ kind: Type.Literal('op'), answer: text }), movedAnswer]));

export const moved: Moved = { kind: 'moved' };
const noAnswer = 'the node that holds the connection did not answer';

/** What can not be read is of a newer node, and not done here. */
export async function answerRequest(
  body: string,
  handlers: {
    readonly command: (request: NodeCommand) => Promise<NodeAnswer>;
    readonly op: (request: NodeOp) => Promise<NodeOpAnswer>;
  },
): Promise<string> {
  const value = parse(body);
  if (command.Check(value)) return JSON.stringify(await handlers.command(value));
  return JSON.stringify(op.Check(value) ? await handlers.op(value) : moved);
}

/** INVARIANT: an answer that can not be read may stand for a command that was sent. */
export function commandAnswer(reply: BusReply): NodeAnswer {
  if (reply.kind === 'not_sent') return moved;
  const value = reply.kind === 'answered' ? parse(reply.body) : null;
  return answer.Check(value) ? value : { kind: 'unknown', reason: noAnswer };
}

export function opAnswerOf(
  reply: BusReply,
): NodeOpAnswer | { readonly kind: 'unknown'; readonly reason: string } {
  if (reply.kind === 'not_sent') return moved;
  const value = reply.kind === 'answered' ? parse(reply.body) : null;
  return opAnswer.Check(value) ? value : { kind: 'unknown', reason: noAnswer };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
