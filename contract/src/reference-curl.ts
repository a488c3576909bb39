import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from './openapi-types.ts';

export interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
  readonly parameters: readonly OpenApiParameter[];
}

/** Ready to paste once $TOKEN (or $SESSION), $ORG_ID and the ids of the path are set in the shell. */
export function curlExample(document: OpenApiDocument, route: Route): string {
  const { method, operation } = route;
  const content = operation.requestBody?.content;
  const body = content?.['application/json']?.example;
  const address = `"${document.servers[0]?.url ?? ''}${shellPath(route.path)}${queryText(route)}"`;
  const lines = [
    method === 'get' ? `curl ${address}` : `curl -X ${method.toUpperCase()} ${address}`,
    ...headerLines(document, route).map((header) => `-H "${header}"`),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d ${quoted(body)}`]),
    ...(content?.['multipart/form-data'] === undefined ? [] : ['-F "file=@photo.jpg"']),
  ];
  return lines.join(' \\\n  ');
}

function headerLines(document: OpenApiDocument, { method, operation, parameters }: Route): string[] {
  const names = new Set(
    parameters.filter((parameter) => parameter.in === 'header').map((parameter) => parameter.name),
  );
  const takesOrganization = parameters.some(({ name, required }) => name === 'X-Org' && required);
  return [
    ...credentialLines(document, operation, method),
    ...(takesOrganization ? ['X-Org: $ORG_ID'] : []),
    ...(names.has('Idempotency-Key') ? ['Idempotency-Key: $(uuidgen)'] : []),
  ];
}

function credentialLines(document: OpenApiDocument, operation: OpenApiOperation, method: string): string[] {
  const [name] = Object.keys(operation.security[0] ?? {});
  const scheme = name === undefined ? undefined : document.components.securitySchemes[name];
  if (scheme === undefined) return [];
  if (scheme.in !== 'cookie') return ['Authorization: Bearer $TOKEN'];
  const cookie = `Cookie: ${scheme.name ?? ''}=$SESSION`;
  return method === 'get' ? [cookie] : [cookie, `Origin: ${originOf(document.servers[0]?.url ?? '')}`];
}

function originOf(url: string): string {
  return /^[a-z]+:\/\/[^/]+/.exec(url)?.[0] ?? url;
}

const literalParameters: Readonly<Record<string, string>> = { action_id: 'switchable.open' };

/** `/api-keys/{id}` → `/api-keys/$API_KEY_ID` */
function shellPath(path: string): string {
  const segments = path.split('/');
  return segments
    .map((segment, index) => {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1];
      if (name === undefined) return segment;
      const literal = literalParameters[name];
      if (literal !== undefined) return literal;
      return `$${(name === 'id' ? `${singular(segments[index - 1] ?? '')}_id` : name).toUpperCase()}`;
    })
    .join('/');
}

function singular(segment: string): string {
  return segment.replaceAll('-', '_').replace(/ies$/, 'y').replace(/s$/, '');
}

function queryText({ parameters }: Route): string {
  const required = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
  return required.length === 0 ? '' : `?${required.map(({ name }) => `${name}=front`).join('&')}`;
}

function quoted(body: unknown): string {
  return `'${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
}
