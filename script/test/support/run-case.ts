import { ScriptError } from '../../src/errors.ts';
import type { HostFunction, HostSignature } from '../../src/host.ts';
import { compile, run } from '../../src/script.ts';
import { typeName } from '../../src/values/kinds.ts';
import { toText } from '../../src/values/text.ts';
import { Kind, type Value } from '../../src/values/value.ts';

export interface CaseError {
  readonly contains: string;
  readonly kind: string;
  readonly full?: string;
  readonly line?: number;
  readonly position?: number;
}

export interface Expectation {
  readonly value?: unknown;
  readonly type?: string;
  readonly text?: string;
  readonly output?: readonly string[];
  readonly error?: CaseError;
}

export interface Case {
  readonly id: string;
  readonly script: string;
  readonly requires?: 'consts' | 'host_fns';
  readonly expect: Expectation;
}

const signatures: Readonly<Record<string, HostSignature>> = {
  host_add: [['int', 'int']],
  host_map: [['map']],
  host_str: [['string']],
  host_fail: [['string']],
};

const functions: Readonly<Record<string, HostFunction>> = {
  host_add: ([a, b]) => Number(a) + Number(b),
  host_map: ([map]) => Object.keys(map as object).length,
  host_str: ([text]) => text,
  host_fail: ([text]) => {
    throw new Error(String(text));
  },
};

const constants = {
  SERVICE: '1',
  TYPES: ['user', 'org', 'device', 'integration', 'zone', 'entity'],
};

/** Values as the corpus writes them. */
export function plainValue(value: Value): unknown {
  if (value === undefined) return null;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object') return value;
  if (value.k === Kind.float) return Number.isFinite(value.v) ? value.v : toText(value);
  if (value.k === Kind.char) return value.c;
  if (value.k === Kind.array) return value.items.map(plainValue);
  if (value.k === Kind.blob) return value.bytes;
  if (value.k !== Kind.map) return toText(value);
  return Object.fromEntries([...value.entries].map(([key, item]) => [key, plainValue(item)]));
}

/** What a script does, in the form of the corpus. */
export async function outcomeOf({ script: source, requires }: Case): Promise<Expectation> {
  try {
    const script = compile(source, {
      host: requires === 'host_fns' ? signatures : {},
      constants: requires === 'consts' ? constants : {},
    });
    const { value, output } = await run(script, { host: functions });
    return {
      value: plainValue(value),
      type: typeName(value),
      text: toText(value),
      ...(output.length > 0 && { output }),
    };
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    const { message, kind, line, column } = error;
    return { error: { contains: message, kind, full: message, line, position: column } };
  }
}
