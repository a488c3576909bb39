import { soon } from './eventually.ts';
import type { Answer, TestApp } from './test-app.ts';

/** As `soon`, for what the process of a script does: it gives way to every other one of the machine. */
export const scriptSoon = { ...soon, timeout: 120_000 };

export interface ScriptOptions {
  readonly plan?: boolean;
  readonly org?: string;
}

export type Script = (script: string, options?: ScriptOptions) => Promise<Answer>;

/** Scripts in the name of whoever holds the token. */
export function scriptsOf(app: TestApp, token: string): Script {
  return (script, { plan = false, org } = {}) =>
    app.request('POST', `/scripting/execute${plan ? '?plan=true' : ''}`, {
      token,
      body: { script },
      ...(org === undefined ? {} : { org }),
    });
}

/** What an administrator's key needs to run scripts. */
export const scripting = { scopedRoles: ['admin', 'execute'] };

/** Runs one that must work, and answers with its result. */
export async function resultOf(run: Script, script: string, options?: ScriptOptions): Promise<unknown> {
  const answer = await run(script, options);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body.result;
}
