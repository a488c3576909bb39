import { type ErrorCode, errorTable } from './errors.ts';
import { type Html, type HtmlPart, html } from './html.ts';
import type {
  JsonSchema,
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
  Reference,
} from './openapi-types.ts';
import { curlExample, type Route } from './reference-curl.ts';
import { constraintsOf, renderSchema, typeOf } from './reference-schema.ts';
import { paragraphs, prose } from './reference-text.ts';

export function renderOperation(document: OpenApiDocument, route: Route): Html {
  const { operation, method, path } = route;
  const id = operation.operationId;
  return html`<section class="operation" id="${id}">
<div class="prose">
<h3><a href="#${id}">${operation.summary}</a></h3>
<p class="route">${methodBadge(method)} <code>${path}</code></p>
${operation.description === undefined ? '' : paragraphs(operation.description)}
${renderFacts(document, operation)}
${renderParameters(route.parameters)}
${renderRequest(document, operation)}
${renderResponses(document, operation)}
${renderErrors(document, operation)}
</div>
<div class="example">
<h4>Example</h4>
<pre><code>${curlExample(document, route)}</code></pre>
</div>
</section>`;
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method}">${method.toUpperCase()}</span>`;
}

function renderFacts(document: OpenApiDocument, operation: OpenApiOperation): Html {
  const event = operation['x-audit-event'];
  return html`<dl class="facts">
<div><dt>Operation</dt><dd><code>${operation.operationId}</code></dd></div>
<div><dt>Who</dt><dd>${requiredRole(operation)}</dd></div>
<div><dt>Agents</dt><dd>${operation['x-agents'] ? 'may call it' : 'may not call it'}</dd></div>
<div><dt>Credential</dt><dd>${credentials(document, operation)}</dd></div>
<div><dt>Audit event</dt><dd>${event === null ? 'none: it changes nothing' : html`<code>${event}</code>`}</dd></div>
</dl>`;
}

function requiredRole(operation: OpenApiOperation): HtmlPart {
  const role = operation['x-required-role'];
  if (role === 'member') return 'any role in the organization';
  if (typeof role !== 'string') return role.rule;
  return html`role <code>${role}</code>${operation['x-building-roles'] ? ', or a building role' : ''}`;
}

function credentials({ components }: OpenApiDocument, { security }: OpenApiOperation): HtmlPart {
  const names = security.flatMap((alternative) => Object.keys(alternative));
  if (names.length === 0) return 'none';
  const isOptional = security.some((alternative) => Object.keys(alternative).length === 0);
  const list = names.map((name, index) => [
    index === 0 ? '' : ', ',
    credentialName(components.securitySchemes[name]),
  ]);
  return isOptional ? [list, ', or none'] : list;
}

function credentialName(
  scheme: OpenApiDocument['components']['securitySchemes'][string] | undefined,
): HtmlPart {
  if (scheme?.in === 'cookie') return 'browser session';
  return html`<code>${scheme?.name ?? 'Authorization: Bearer'}</code>`;
}

function renderParameters(parameters: readonly OpenApiParameter[]): HtmlPart {
  if (parameters.length === 0) return '';
  return html`<h4>Parameters</h4>
<ul class="members">${parameters.map(renderParameter)}</ul>`;
}

function renderParameter(parameter: OpenApiParameter): Html {
  const mark = parameter.required
    ? html`<span class="required">required</span>`
    : html`<span class="optional">optional</span>`;
  const note =
    parameter.description === undefined ? '' : html`<p class="note">${prose(parameter.description)}</p>`;
  return html`<li><p class="member"><code class="name">${parameter.name}</code> <span class="place">${parameter.in}</span> <span class="type">${typeOf(parameter.schema)}</span> ${mark}${constraintsOf(parameter.schema)}</p>${note}</li>`;
}

function renderRequest(document: OpenApiDocument, { requestBody }: OpenApiOperation): HtmlPart {
  const { 'application/json': json, 'multipart/form-data': form } = requestBody?.content ?? {};
  const schema = json?.schema ?? form?.schema;
  if (schema === undefined) return '';
  const type = form === undefined ? '' : html` <code>multipart/form-data</code>`;
  return html`<h4>Request body${type}</h4>
<div class="schema">${renderBody(document, schema)}</div>`;
}

function renderBody({ components }: OpenApiDocument, schema: JsonSchema): Html {
  return renderSchema(schema, { components: components.schemas, within: [] });
}

function renderResponses(document: OpenApiDocument, operation: OpenApiOperation): Html {
  const successes = resolvedResponses(document, operation).filter(([status]) => status.startsWith('2'));
  return html`<h4>Response</h4>
${successes.map(([status, response]) => renderSuccess(document, status, response))}`;
}

function renderSuccess(document: OpenApiDocument, status: string, response: OpenApiResponse): Html {
  const schema = response.content?.['application/json'].schema;
  const body = schema === undefined ? '' : renderBody(document, schema);
  return html`<div class="schema"><p><span class="status">${status}</span> ${response.description}</p>${body}</div>`;
}

function renderErrors(document: OpenApiDocument, operation: OpenApiOperation): Html {
  const codes = resolvedResponses(document, operation)
    .filter(([status]) => status !== 'default')
    .flatMap(([, response]) => response['x-error-codes'] ?? []);
  return html`<h4>Errors</h4>
<details class="errors"><summary>${codes.length} codes</summary>
<dl class="codes">${codes.map(renderErrorCode)}</dl></details>`;
}

export function renderErrorCode(code: string): Html {
  if (!isErrorCode(code)) throw new Error(`the error table has no ${code}`);
  const { status, meaning } = errorTable[code];
  return html`<div><dt><span class="status error">${status}</span> <code>${code}</code></dt><dd>${prose(meaning)}</dd></div>`;
}

function isErrorCode(code: string): code is ErrorCode {
  return code in errorTable;
}

function resolvedResponses(
  { components }: OpenApiDocument,
  { responses }: OpenApiOperation,
): [string, OpenApiResponse][] {
  return Object.entries(responses).map(([status, response]) => [
    status,
    resolve(response, components.responses),
  ]);
}

export function resolvedParameters(
  { components }: OpenApiDocument,
  { parameters }: OpenApiOperation,
): OpenApiParameter[] {
  return parameters.map((parameter) => resolve(parameter, components.parameters));
}

function resolve<T extends object>(value: T | Reference, components: Readonly<Record<string, T>>): T {
  if (!('$ref' in value)) return value;
  const found = components[value.$ref.slice(value.$ref.lastIndexOf('/') + 1)];
  if (found === undefined) throw new Error(`unresolved reference ${value.$ref}`);
  return found;
}
