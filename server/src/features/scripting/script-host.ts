import type { ScriptChange, ScriptKind, ScriptOp } from '@lintel/contract/scripting';
import type { Json } from '@lintel/script/values/json';
import { AppError } from '../../kernel/app-error.ts';
import { checkFields, type Fields, parseOptions, requireUlid } from './script-fields.ts';
import { parseImageKind, parseKind } from './script-kinds.ts';
import type { ScriptRecord, ScriptRecords } from './script-records.ts';
import type { CallService } from './script-runner.ts';

type HostFunction = (args: Arguments) => Promise<unknown>;

/** The language has checked how many there are and of which types. */
interface Arguments {
  text(index: number): string;
  map(index: number): Fields;
}

/** The functions of interface 4.10 that need somebody's rights. Changes are noted in the order they are made. */
export function createScriptHost(records: ScriptRecords, changes: ScriptChange[]): CallService {
  const note = (op: ScriptOp, kind: ScriptKind, id: string, fields: Fields = {}) =>
    void changes.push({ op, kind, id, fields });
  const functions: Readonly<Record<string, HostFunction>> = {
    ...recordFunctions(records, note),
    ...entityFunctions(records, note),
    ...imageFunctions(records, note),
  };
  return async (name, args) => {
    const call = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (call === undefined) throw new Error(`the language asked for the unknown function ${name}`);
    return call(argumentsOf(args));
  };
}

type Note = (op: ScriptOp, kind: ScriptKind, id: string, fields?: Fields) => void;
type HostFunctions = Readonly<Record<string, HostFunction>>;

function recordFunctions(records: ScriptRecords, note: Note): HostFunctions {
  const target = (args: Arguments) => ({ kind: parseKind(args.text(0)), id: requireUlid(args.text(1)) });
  return {
    create: async (args) => {
      const kind = parseKind(args.text(0));
      const fields = checkFields(kind, 'create', args.map(1));
      const record = await records.create(kind, fields);
      note('create', kind, String(record.id), fields);
      return record;
    },
    get: async (args) => {
      const { kind, id } = target(args);
      return records.find(kind, id, parseOptions(args.map(2), 'get'));
    },
    update: async (args) => {
      const { kind, id } = target(args);
      const patch = checkFields(kind, 'update', args.map(2));
      const record = await records.update(kind, id, patch);
      note('update', kind, id, patch);
      return record;
    },
    delete: async (args) => {
      const { kind, id } = target(args);
      const record = await records.remove(kind, id);
      note('delete', kind, id);
      return record;
    },
    purge: async (args) => {
      const { kind, id } = target(args);
      const record = await records.purge(kind, id);
      note('purge', kind, id);
      return record;
    },
    list: async (args) => records.list(parseKind(args.text(0)), parseOptions(args.map(1), 'list')),
  };
}

function entityFunctions(records: ScriptRecords, note: Note): HostFunctions {
  const act = async (id: string, action: string, payload: Fields): Promise<ScriptRecord> => {
    const result = await records.act(requireUlid(id), action, payload);
    note('action', 'entity', id, { action_id: action, payload });
    return result;
  };
  return {
    toggle_entity: (args) => act(args.text(0), 'switchable.toggle', {}),
    entity_action: (args) => act(args.text(0), args.text(1), args.map(2)),
  };
}

function imageFunctions(records: ScriptRecords, note: Note): HostFunctions {
  return {
    has_image: async (args) => records.hasImage(parseImageKind(args.text(0)), requireUlid(args.text(1))),
    upload_image: async (args) => {
      const kind = parseImageKind(args.text(0));
      const id = requireUlid(args.text(1));
      const url = args.text(2);
      const isNew = await records.uploadImage(kind, id, url);
      if (isNew) note('upload_image', kind, id, { url });
      return isNew;
    },
  };
}

function argumentsOf(args: readonly Json[]): Arguments {
  return {
    text: (index) => String(args[index]),
    map: (index) => (args[index] === undefined ? {} : (storable(args[index]) as Fields)),
  };
}

/** JSON has no integers beyond 2^53: they would be stored as others. */
function storable(value: Json): unknown {
  if (typeof value === 'bigint')
    throw new AppError('validation_error', `${value} is too large a number to store`);
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, storable(item ?? null)]));
}
