import { type Html, html, styleElement, textOf } from './html.ts';
import type { OpenApiDocument } from './openapi-types.ts';
import type { Route } from './reference-curl.ts';
import { methodBadge, renderErrorCode, renderOperation, resolvedParameters } from './reference-operation.ts';
import { renderSchema, schemaAnchor } from './reference-schema.ts';
import { referencePageStyle } from './reference-style.ts';
import { paragraphs, slug } from './reference-text.ts';

interface Section {
  readonly name: string;
  readonly description: string;
  readonly anchor: string;
  readonly routes: readonly Route[];
}

/** One page, no script, no other file: it works under a policy that forbids both. */
export function renderReferencePage(document: OpenApiDocument): string {
  const { info } = document;
  const sections = sectionsOf(document);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} ${info.version}</title>
${styleElement(referencePageStyle)}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${renderNavigation(document, sections)}
<main id="content">
${renderIntroduction(document)}
${sections.map((section) => renderSection(document, section))}
${renderRecords(document)}
</main>
</body>
</html>
`;
  return textOf(page);
}

/** For the Content-Security-Policy: `style-src '<this>'`. */
export async function referencePageStyleHash(): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(referencePageStyle));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}

function sectionsOf(document: OpenApiDocument): Section[] {
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method,
      path,
      operation,
      parameters: resolvedParameters(document, operation),
    })),
  );
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    anchor: `tag-${slug(name)}`,
    routes: routes.filter(({ operation }) => operation.tags.includes(name)),
  }));
}

function renderNavigation({ info }: OpenApiDocument, sections: readonly Section[]): Html {
  return html`<header class="side">
<p class="brand"><a href="#content">${info.title}</a> <span class="version">${info.version}</span></p>
<input type="checkbox" id="menu" aria-label="Show the contents"><label for="menu">Contents</label>
<nav aria-label="Contents">
<ul class="plain"><li><a href="#content">Introduction</a></li><li><a href="#transport-errors">Errors of any request</a></li><li><a href="#records">Records</a></li></ul>
${sections.map(renderNavigationSection)}
</nav>
</header>`;
}

function renderNavigationSection({ name, anchor, routes }: Section): Html {
  return html`<p class="group"><a href="#${anchor}">${name}</a></p>
<ul>${routes.map(({ method, operation }) => html`<li><a href="#${operation.operationId}">${methodBadge(method)} <span>${operation.summary}</span></a></li>`)}</ul>
`;
}

function renderIntroduction({ info, servers, components }: OpenApiDocument): Html {
  const codes = components.responses.transport_error?.['x-error-codes'] ?? [];
  return html`<section class="introduction">
<h1>${info.title}</h1>
<p class="lead">${info.summary}</p>
<p class="server">${servers.map(({ url }) => html`<code>${url}</code>`)}</p>
${paragraphs(info.description)}
<p>The same as a document for tools: <a href="/api/v1/openapi.json">openapi.json</a>.</p>
<h2 id="transport-errors">Errors of any request</h2>
<dl class="codes">${codes.map(renderErrorCode)}</dl>
</section>`;
}

function renderSection(document: OpenApiDocument, section: Section): Html {
  return html`<section class="tag" id="${section.anchor}">
<h2><a href="#${section.anchor}">${section.name}</a></h2>
${paragraphs(section.description)}
${section.routes.map((route) => renderOperation(document, route))}
</section>
`;
}

function renderRecords({ components }: OpenApiDocument): Html {
  return html`<section class="tag" id="records">
<h2><a href="#records">Records</a></h2>
${Object.entries(components.schemas).map(
  ([name, schema]) => html`<section class="record" id="${schemaAnchor(name)}">
<h3><a href="#${schemaAnchor(name)}">${name}</a></h3>
${renderSchema(schema, { components: components.schemas, within: [name] })}
</section>
`,
)}</section>`;
}
