import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import type { TObject } from 'typebox';
import { invalid } from '../kernel/app-error.ts';
import type {
  DeviceIdentity,
  ExternalIdRule,
  ProviderManifest,
  PulseOwner,
  PulseSubject,
} from './provider.ts';
import { leadsToMetadata } from './transport/device-address.ts';

/** Members the service itself reads, whatever the provider declares. */
const commonMembers: readonly string[] = ['auto_close', 'kind', 'channel_index'];

const ajv = formatsPlugin.default(
  new Ajv2020({ strict: true, strictTypes: false, allErrors: false, coerceTypes: false, useDefaults: false }),
);
const compiled = new WeakMap<TObject, ValidateFunction>();

function validatorOf(schema: TObject): ValidateFunction {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const validate = ajv.compile(schema);
  compiled.set(schema, validate);
  return validate;
}

/** `path` is the JSON pointer of the member of the request that holds the metadata. */
export function requireFittingMetadata(
  schema: TObject,
  metadata: Readonly<Record<string, unknown>>,
  path: string,
): void {
  const own = Object.entries(metadata).filter(
    ([name]) => Object.hasOwn(schema.properties, name) || !commonMembers.includes(name),
  );
  const validate = validatorOf(schema);
  if (validate(Object.fromEntries(own))) return;
  const [error] = validate.errors ?? [];
  throw invalid(`${path}${error === undefined ? '' : placeOf(error)}`, messageOf(error));
}

/** Of whatever name: a setting that holds an address is one that is dialled. */
function requireDeviceAddresses(config: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(config)) {
    if (typeof value === 'string' && leadsToMetadata(value))
      throw invalid(`/config/${name}`, 'is no address of a device');
  }
}

/** The settings of an integration, as its provider declares them. */
export function requireFittingConfig(schema: TObject, config: Readonly<Record<string, unknown>>): void {
  requireDeviceAddresses(config);
  const validate = validatorOf(schema);
  if (validate(config)) return;
  const [error] = validate.errors ?? [];
  throw invalid(`/config${error === undefined ? '' : placeOf(error)}`, messageOf(error));
}

export function requireFittingExternalId(
  rule: ExternalIdRule,
  externalId: string | null,
  pattern?: string,
): void {
  if (rule === 'refused' && externalId !== null)
    throw invalid('/external_id', 'is not used by the provider of this integration');
  if (rule === 'required' && externalId === null)
    throw invalid('/external_id', 'is required by the provider of this integration');
  if (externalId !== null && pattern !== undefined && !new RegExp(pattern, 'u').test(externalId))
    throw invalid('/external_id', `must have the form the provider gives it: ${pattern}`);
}

/** TypeBox keeps marks of its own under `~` names; they are no JSON Schema keywords. */
export function plainSchema(schema: TObject): Record<string, unknown> {
  const text = JSON.stringify(schema, (key, value: unknown) => (key.startsWith('~') ? undefined : value));
  return JSON.parse(text) as Record<string, unknown>;
}

/** A provider this build does not have says nothing about its metadata. */
const anything = { type: 'object' };

export const metadataSchemaOf = (
  manifest: ProviderManifest | null,
  of: 'deviceMetadata' | 'entityMetadata',
): Record<string, unknown> => (manifest === null ? { ...anything } : plainSchema(manifest[of]));

export function pulseOwnerOf({ pulseBy = 'device' }: ProviderManifest, subject: PulseSubject): PulseOwner {
  return typeof pulseBy === 'function' ? pulseBy(subject) : pulseBy;
}

/** As it is stored with a device: one text for one piece of hardware. */
export function hardwareIdOf(manifest: ProviderManifest | null, device: DeviceIdentity): string | null {
  const hardware = manifest?.hardware?.(device) ?? null;
  return hardware === null ? null : `${hardware.maker}:${hardware.id}`;
}

function placeOf({ instancePath, keyword, params }: ErrorObject): string {
  const named: unknown =
    keyword === 'required'
      ? params.missingProperty
      : keyword === 'additionalProperties'
        ? params.additionalProperty
        : undefined;
  if (typeof named !== 'string') return instancePath;
  return `${instancePath}/${named.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function messageOf(error: ErrorObject | undefined): string {
  if (error?.keyword === 'additionalProperties') return 'is not a member the provider knows';
  if (error?.keyword === 'required') return 'is required by the provider';
  return error?.message ?? 'is not valid';
}
