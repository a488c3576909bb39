import type { ImageKind } from '@lintel/contract/images';
import type { ScriptKind } from '@lintel/contract/scripting';
import type { Call, OrgScope } from '../../kernel/call.ts';
import type { Fields, ReadOptions } from './script-fields.ts';

export type ScriptRecord = Readonly<Record<string, unknown>>;

/** In whose name steps are done. `call` has the rights the caller has by now. */
export interface ScriptCaller {
  call: Call;
  readonly org: OrgScope;
}

/** What a script can do to records: for good, or in a plan. */
export interface ScriptRecords {
  create(kind: ScriptKind, fields: Fields): Promise<ScriptRecord>;
  find(kind: ScriptKind, id: string, options: ReadOptions): Promise<ScriptRecord | null>;
  update(kind: ScriptKind, id: string, patch: Fields): Promise<ScriptRecord>;
  remove(kind: ScriptKind, id: string): Promise<ScriptRecord>;
  purge(kind: ScriptKind, id: string): Promise<ScriptRecord>;
  list(kind: ScriptKind, options: ReadOptions): Promise<ScriptRecord[]>;
  act(entityId: string, actionId: string, payload: Fields): Promise<ScriptRecord>;
  hasImage(kind: ImageKind, id: string): Promise<boolean>;
  /** False where there is an image already: then nothing is fetched. */
  uploadImage(kind: ImageKind, id: string, url: string): Promise<boolean>;
}
