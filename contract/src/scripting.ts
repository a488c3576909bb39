import { type Static, Type } from 'typebox';
import { Closed, Response, Ulid } from './common.ts';
import { defineOperation } from './operation.ts';
import { scriptKinds } from './script-functions.ts';

export type ScriptKind = (typeof scriptKinds)[number];

export const scriptOps = ['create', 'update', 'delete', 'purge', 'action', 'upload_image'] as const;
export type ScriptOp = (typeof scriptOps)[number];

const maxSourceLength = 1_048_576;

export const ExecuteScriptRequest = Closed('ExecuteScriptRequest', {
  script: Type.String({ maxLength: maxSourceLength, description: 'Source text' }),
});

export const ScriptChange = Response('ScriptChange', {
  op: Type.Unsafe<ScriptOp>({ type: 'string', enum: [...scriptOps] }),
  kind: Type.Unsafe<ScriptKind>({ type: 'string', enum: [...scriptKinds] }),
  id: Type.Unsafe<string>({ ...Ulid, description: 'Made up for what would be created' }),
  fields: Type.Record(Type.String(), Type.Unknown(), { description: 'As the script gives them' }),
});
export type ScriptChange = Static<typeof ScriptChange>;

export const ScriptResult = Response('ScriptResult', {
  result: Type.Unknown({ description: 'The value of the last expression' }),
  output: Type.Array(Type.String(), { description: 'What the script printed, one text for each print' }),
  changes: Type.Optional(Type.Array(ScriptChange, { description: 'With plan: what it would change' })),
});
export type ScriptResult = Static<typeof ScriptResult>;

export const scriptingOperations = [
  defineOperation({
    id: 'execute_script',
    method: 'POST',
    path: '/scripting/execute',
    tag: 'Scripting',
    summary: 'Run a script',
    description:
      'Every step is checked, counted and audited like the operation it stands for. A step that fails stops the script; ' +
      'what earlier steps did stays. With script_error, `details` has line and column, `output` what was printed before.',
    auth: 'principal',
    agents: false,
    org: 'principal',
    role: {
      rule: 'execute in at least one organization, of administrators too; each step needs the role of its own operation',
    },
    // A text of the full length, with line ends and quotes escaped.
    maxBodyBytes: 3 * maxSourceLength,
    answersWithinMs: 330_000,
    query: Type.Object({
      plan: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Change nothing: answer with the list of what it would change',
        }),
      ),
    }),
    body: ExecuteScriptRequest,
    responses: { 200: ScriptResult },
    errors: ['quota_exceeded', 'rate_limited', 'script_error'],
    audit: 'scripting.executed',
  }),
] as const;
