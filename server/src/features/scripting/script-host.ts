import type { Json } from '@lintel/script/values/json';
import { AppError } from '../../kernel/app-error.ts';
import type { ChangeLog } from './script-changes.ts';
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
export function createScriptHost(records: ScriptRecords, log: ChangeLog): CallService {
  const functions: Readonly<Record<string, HostFunction>> = {
    ...recordFunctions(records, log),
    ...entityFunctions(records, log),
    ...imageFunctions(records, log),
  };
  return async (name, args) => {
    const call = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (call === undefined) throw new Error(`the language asked for the unknown function ${name}`);
    return call(argumentsOf(args));
  };
}

type HostFunctions = Readonly<Record<string, HostFunction>>;

function recordFunctions(records: ScriptRecords, log: ChangeLog): HostFunctions {
  const target = (args: Arguments) => ({ kind: parseKind(args.text(0)), id: requireUlid(args.text(1)) });
  return {
    create: async (args) => {
      const kind = parseKind(args.text(0));
      const fields = checkFields(kind, 'create', args.map(1));
      log.reserve(fields);
      const record = await records.create(kind, fields);
      log.add({ op: 'create', kind, id: String(record.id), fields });
      return record;
    },
    get: async (args) => {
      const { kind, id } = target(args);
      return records.find(kind, id, parseOptions(args.map(2), 'get'));
    },
    update: async (args) => {
      const { kind, id } = target(args);
      const fields = checkFields(kind, 'update', args.map(2));
      log.reserve(fields);
      const record = await records.update(kind, id, fields);
      log.add({ op: 'update', kind, id, fields });
      return record;
    },
    delete: async (args) => {
      const { kind, id } = target(args);
      log.reserve({});
      const record = await records.remove(kind, id);
      log.add({ op: 'delete', kind, id, fields: {} });
      return record;
    },
    purge: async (args) => {
      const { kind, id } = target(args);
      log.reserve({});
      const record = await records.purge(kind, id);
      log.add({ op: 'purge', kind, id, fields: {} });
      return record;
    },
    list: async (args) => records.list(parseKind(args.text(0)), parseOptions(args.map(1), 'list')),
  };
}

function entityFunctions(records: ScriptRecords, log: ChangeLog): HostFunctions {
  const act = async (id: string, action: string, payload: Fields): Promise<ScriptRecord> => {
    const fields = { action_id: action, payload };
    log.reserve(fields);
    const result = await records.act(requireUlid(id), action, payload);
    log.add({ op: 'action', kind: 'entity', id, fields });
    return result;
  };
  return {
    toggle_entity: (args) => act(args.text(0), 'switchable.toggle', {}),
    entity_action: (args) => act(args.text(0), args.text(1), args.map(2)),
  };
}

function imageFunctions(records: ScriptRecords, log: ChangeLog): HostFunctions {
  return {
    has_image: async (args) => records.hasImage(parseImageKind(args.text(0)), requireUlid(args.text(1))),
    upload_image: async (args) => {
      const kind = parseImageKind(args.text(0));
      const id = requireUlid(args.text(1));
      const url = args.text(2);
      log.reserve({ url });
      const isNew = await records.uploadImage(kind, id, url);
      if (isNew) log.add({ op: 'upload_image', kind, id, fields: { url } });
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
