import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { NodeAnswer, NodeCommand } from './node-bus.ts';

const text = Type.String();
const record = Type.Record(text, Type.Unknown());

/** Open objects: in a rolling update the other node may be newer. */
const command = Compile(
  Type.Object({
    orgId: text,
    integrationId: text,
    providerType: text,
    config: record,
    epoch: Type.Integer(),
    notAfterMs: Type.Number(),
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
const answer = Compile(
  Type.Union([
    Type.Object({ kind: Type.Literal('delivered'), observed }),
    Type.Object({
      kind: Type.Union([Type.Literal('refused'), Type.Literal('not_sent'), Type.Literal('unknown')]),
      reason: text,
    }),
    Type.Object({ kind: Type.Literal('moved') }),
  ]),
);

/** Null when it is none. */
export function parseCommand(body: string): NodeCommand | null {
  const value = parse(body);
  return command.Check(value) ? value : null;
}

export function parseAnswer(body: string): NodeAnswer | null {
  const value = parse(body);
  return answer.Check(value) ? value : null;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
