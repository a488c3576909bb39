import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { Closed } from './common.ts';
import { html, textOf } from './html.ts';
import { buildOpenApi } from './openapi.ts';
import { defineOperation, errorsOf } from './operation.ts';
import { allOperations } from './operations.ts';
import { referencePageStyleHash, renderReferencePage } from './reference-page.ts';

const settings = { serverUrl: 'https://doors.example.org/api/v1', version: '1.2.3', brand: 'service' };
const page = renderReferencePage(buildOpenApi({ operations: allOperations, ...settings }));

function anchors(text: string): string[] {
  return [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? '');
}

test('every operation has its anchor, no anchor occurs twice, and every link inside the page arrives', () => {
  const ids = anchors(page);
  expect(ids).toEqual(expect.arrayContaining(allOperations.map(({ id }) => id)));
  expect(new Set(ids).size).toBe(ids.length);
  const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  expect(targets.filter((id) => id === undefined || !ids.includes(id))).toEqual([]);
});

test('the page runs no script, loads nothing and carries no style the hash does not cover', () => {
  expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(/i);
  expect(page).not.toMatch(/<[^>]+ (style|on\w+)=/i);
  expect(page.match(/<style>/g)).toHaveLength(1);
});

test('the hash is the one of the style element', async () => {
  const style = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? '';
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style));
  expect(style.length).toBeGreaterThan(1000);
  expect(await referencePageStyleHash()).toBe(`sha256-${Buffer.from(digest).toString('base64')}`);
});

test('an operation shows its role, its event and all its error codes', () => {
  const spec = allOperations.find(({ id }) => id === 'execute_entity_action');
  if (spec === undefined) throw new Error('the operation is gone');
  const section = page.slice(page.indexOf(`id="${spec.id}"`), page.indexOf('id="preview_entity_action"'));
  for (const text of ['entities:set_state', 'entity.action', ...errorsOf(spec)]) {
    expect(section).toContain(`<code>${text}</code>`);
  }
});

const hostile = `</code><script>alert("1")</script>'&`;

test('whatever the document says is escaped', () => {
  const operation = defineOperation({
    id: 'sample',
    method: 'POST',
    path: `/sample/${hostile}`,
    tag: 'Status',
    summary: hostile,
    description: `\`${hostile}\` **${hostile}**`,
    auth: 'public',
    agents: false,
    org: 'none',
    role: { rule: hostile },
    query: Type.Object({
      [hostile]: Type.String({ description: hostile, default: hostile, pattern: hostile }),
    }),
    headers: [{ name: hostile, required: true, description: hostile }],
    body: Closed('Body', { [hostile]: Type.Unsafe<string>({ type: 'string', enum: [hostile] }) }),
    responses: { 200: Type.String({ description: hostile, format: hostile }) },
    errors: [],
    audit: null,
  });
  const document = buildOpenApi({
    operations: [operation],
    ...settings,
    version: hostile,
    serverUrl: hostile,
  });
  const text = renderReferencePage(document);
  expect(text).not.toContain('<script');
  expect(text).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;');
});

test('markup is only what html made; text that looks like it is text', () => {
  const forged: string = JSON.stringify({ markup: '<b>' });
  expect(textOf(html`<i title="${'"'}">${['<', html`<b>${1}</b>`, forged]}</i>`)).toBe(
    '<i title="&quot;">&lt;<b>1</b>{&quot;markup&quot;:&quot;&lt;b&gt;&quot;}</i>',
  );
});

function example(id: string): string {
  const section = page.slice(page.indexOf(`<section class="operation" id="${id}"`));
  return (/<pre><code>(.*?)<\/code>/s.exec(section)?.[1] ?? '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'");
}

test.each([
  ['list_entities', ['curl "https://doors.example.org/api/v1/entities"', 'Bearer $TOKEN', 'X-Org: $ORG_ID']],
  ['execute_entity_action', ['/entities/$ENTITY_ID/actions/switchable.open"', 'Idempotency-Key', `-d '{}'`]],
  ['revoke_api_key', ['curl -X DELETE "https://doors.example.org/api/v1/api-keys/$API_KEY_ID"']],
  ['search_orgs', ['/orgs/search?q=front"']],
  ['redeem_invitation', ['Cookie: ory_kratos_session=$SESSION', 'Origin: https://doors.example.org"']],
])('the example of %s can be pasted', (id, parts) => {
  for (const part of parts) expect(example(id)).toContain(part);
});

test('the example of a public operation sends no credential', () => {
  expect(example('get_backend_status')).toBe('curl "https://doors.example.org/api/v1/status"');
});
