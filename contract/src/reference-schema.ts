import { Timestamp, Ulid, ulidPattern } from './common.ts';
import { type Html, type HtmlPart, html } from './html.ts';
import { componentPrefix } from './openapi-schemas.ts';
import type { JsonSchema, OpenApiDocument } from './openapi-types.ts';
import { prose } from './reference-text.ts';

type Components = OpenApiDocument['components']['schemas'];

export interface SchemaView {
  readonly components: Components;
  /** The records being rendered, outermost first: one that contains itself is linked, not repeated. */
  readonly within: readonly string[];
}

/** Records nested deeper are one click away instead of on the page again. */
const maxDepth = 3;

export function renderSchema(schema: JsonSchema, view: SchemaView): Html {
  const name = referencedName(schema);
  if (name !== null) return renderReference(name, view);
  const members = renderMembers(schema, view);
  return html`<p class="type">${typeOf(schema)}${constraintsOf(schema)}</p>${describe(schema)}${members}`;
}

function renderReference(name: string, view: SchemaView): Html {
  const schema = view.components[name];
  if (schema === undefined) throw new Error(`unresolved reference to ${name}`);
  const inner = { ...view, within: [...view.within, name] };
  return html`<p class="type">${schemaLink(name)}${closedNote(schema)}</p>${describe(schema)}${renderMembers(schema, inner)}`;
}

/** What a schema contains, member by member; nothing for plain values. */
function renderMembers(schema: JsonSchema, view: SchemaView): HtmlPart {
  const members = Object.entries(schema.properties ?? {});
  if (members.length > 0) {
    const required = new Set(schema.required);
    return html`<ul class="members">${members.map(([name, part]) => renderMember(name, part, required.has(name), view))}</ul>`;
  }
  const content = contentOf(schema);
  return content === null ? '' : renderNested(content, view);
}

function renderMember(name: string, schema: JsonSchema, isRequired: boolean, view: SchemaView): Html {
  const mark = isRequired
    ? html`<span class="required">required</span>`
    : html`<span class="optional">optional</span>`;
  return html`<li><p class="member"><code class="name">${name}</code> <span class="type">${typeOf(schema)}</span> ${mark}${constraintsOf(schema)}</p>${describe(schema)}${renderNested(schema, view)}</li>`;
}

/** The record inside a member, folded; a plain value has none. */
function renderNested(schema: JsonSchema, view: SchemaView): HtmlPart {
  const name = referencedName(schema);
  if (name === null) {
    const hasMembers = Object.keys(schema.properties ?? {}).length > 0;
    if (hasMembers) return fold('members', renderMembers(schema, view));
    const content = contentOf(schema);
    return content === null ? '' : renderNested(content, view);
  }
  const target = view.components[name];
  if (target === undefined || view.within.includes(name) || view.within.length >= maxDepth) return '';
  const members = renderMembers(target, { ...view, within: [...view.within, name] });
  return members === '' ? '' : fold(name, members);
}

function fold(label: string, content: HtmlPart): Html {
  return html`<details><summary>${label}</summary>${content}</details>`;
}

/** The schema of the parts: an array’s items, a map’s values, the only alternative beside null. */
function contentOf(schema: JsonSchema): JsonSchema | null {
  if (schema.items !== undefined) return schema.items;
  if (typeof schema.additionalProperties === 'object') return schema.additionalProperties;
  const alternatives = (schema.anyOf ?? []).filter((part) => part.type !== 'null');
  return alternatives.length === 1 ? (alternatives[0] ?? null) : null;
}

export function typeOf(schema: JsonSchema): HtmlPart {
  const name = referencedName(schema);
  if (name !== null) return schemaLink(name);
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map(typeOf), ' or ');
  if (schema.type === undefined) return 'any JSON';
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type;
  return joined(
    types.map((type) => nameOfType(type, schema)),
    ' or ',
  );
}

function nameOfType(type: string, schema: JsonSchema): HtmlPart {
  if (type === 'array') return html`list of ${typeOf(schema.items ?? {})}`;
  if (type === 'object' && typeof schema.additionalProperties === 'object') {
    return html`map to ${typeOf(schema.additionalProperties)}`;
  }
  if (type !== 'string') return type;
  return schema.pattern === ulidPattern ? 'ULID' : (schema.format ?? type);
}

function joined(parts: readonly HtmlPart[], separator: string): HtmlPart {
  return parts.map((part, index) => (index === 0 ? part : [separator, part]));
}

/** Said once in the introduction instead of at every id and time. */
const saidOnce: ReadonlySet<unknown> = new Set(
  [Ulid, Timestamp].map((schema) => Reflect.get(schema, 'description')),
);

function describe({ description }: JsonSchema): HtmlPart {
  if (description === undefined || saidOnce.has(description)) return '';
  return html`<p class="note">${prose(description)}</p>`;
}

function closedNote(schema: JsonSchema): HtmlPart {
  return schema.additionalProperties === false ? html` <span class="constraint">no other members</span>` : '';
}

export function constraintsOf(schema: JsonSchema): HtmlPart {
  const values = schema.enum?.filter((value) => value !== null) ?? [];
  return [
    values.length > 0
      ? html` <span class="values">${values.map((value) => html`<code>${String(value)}</code>`)}</span>`
      : '',
    constraintTexts(schema).map((text) => html` <span class="constraint">${text}</span>`),
  ];
}

function constraintTexts(schema: JsonSchema): string[] {
  const texts = [
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minimum, schema.maximum, ''),
    range(schema.minItems, schema.maxItems, 'items'),
    schema.uniqueItems ? 'no repeats' : '',
    schema.pattern === undefined || schema.pattern === ulidPattern ? '' : `matches ${schema.pattern}`,
    schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`,
  ];
  return texts.filter((text) => text !== '');
}

function range(from: number | undefined, to: number | undefined, unit: string): string {
  const suffix = unit === '' ? '' : ` ${unit}`;
  if (from !== undefined && to !== undefined) return `${from} to ${to}${suffix}`;
  if (from !== undefined) return `at least ${from}${suffix}`;
  return to === undefined ? '' : `at most ${to}${suffix}`;
}

function referencedName({ $ref }: JsonSchema): string | null {
  return $ref?.startsWith(componentPrefix) ? $ref.slice(componentPrefix.length) : null;
}

export function schemaAnchor(name: string): string {
  return `schema-${name}`;
}

function schemaLink(name: string): Html {
  return html`<a href="#${schemaAnchor(name)}">${name}</a>`;
}
