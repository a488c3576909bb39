import { once } from 'node:events';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSignInLink } from '../../src/identity/accounts.ts';
import { launchBrowser, openPage } from '../support/browser.ts';
import type { PersonWithPassword } from '../support/people.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { testPepper } from '../support/test-world.ts';

const publicUrl = 'http://lintel.test';

/** A forward proxy, so that a browser finds the service under a name it has no reason to trust. */
async function startProxy(port: number): Promise<Server> {
  const proxy = createServer((incoming, outgoing) => {
    const { pathname, search } = new URL(incoming.url ?? '/');
    const { method, headers } = incoming;
    const passed = forward(
      { host: '127.0.0.1', port, method, headers, path: `${pathname}${search}` },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    incoming.pipe(passed);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

// Over plain http under such a name there is no Sec-Fetch-Site: the pages must leave the browser its Origin.
describe('the provider’s own pages in a browser, over plain http', () => {
  let app: TestApp;
  let proxy: Server;
  let browser: Browser;
  let person: PersonWithPassword;

  beforeAll(async () => {
    app = await startTestApp({ env: { PUBLIC_URL: publicUrl } });
    await app.app.http.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.app.http.server.address() as AddressInfo;
    proxy = await startProxy(port);
    browser = await launchBrowser();
    const userId = await app.world.user({ email: 'browser@people.test' });
    const orgId = await app.world.org();
    await app.world.grant(orgId, userId, 'admin');
    person = { userId, orgId, email: 'browser@people.test', password: 'correct horse' };
  });
  afterAll(async () => {
    await browser.close();
    proxy.closeAllConnections();
    proxy.close();
    await app.close();
  });

  const open = () => {
    const { port } = proxy.address() as AddressInfo;
    return openPage(browser, { proxy: { server: `http://127.0.0.1:${port}` } });
  };

  it('signs in by the one-time link, sets a password, and signs in with it', async () => {
    const deps = { pepper: testPepper, baseUrl: `${publicUrl}/identity` };
    const link = await app.app.db.asService((tx) => createSignInLink(deps, tx, person));
    const first = await open();
    await first.page.goto(link);
    await first.page.getByRole('button', { name: 'Sign in to Lintel' }).click();
    await first.page.waitForURL((url) => !url.pathname.startsWith('/identity'));

    await first.page.goto(`${publicUrl}/identity/self-service/settings/browser`);
    await first.page.getByLabel('New password').fill(person.password);
    await first.page.getByRole('button', { name: 'Save' }).click();
    await first.page.getByText('Your changes have been saved!').waitFor();
    expect(first.complaints().filter((text) => /Content Security Policy/i.test(text))).toEqual([]);

    const second = await open();
    await second.page.goto(`${publicUrl}/identity/self-service/login/browser?return_to=/healthz`);
    await second.page.getByLabel('E-Mail').fill(person.email);
    await second.page.getByLabel('Password').fill('not this one');
    await second.page.getByRole('button', { name: 'Sign in with password' }).click();
    await second.page.getByRole('alert').waitFor();
    expect(await second.page.getByLabel('E-Mail').inputValue()).toBe(person.email);
    await second.page.getByLabel('Password').fill(person.password);
    await second.page.getByRole('button', { name: 'Sign in with password' }).click();
    await second.page.waitForURL(`${publicUrl}/healthz`);
    const cookies = await second.page.context().cookies();
    expect(cookies.find(({ name }) => name === 'ory_kratos_session')).toMatchObject({
      httpOnly: true,
      sameSite: 'Lax',
    });
    expect(second.complaints().filter((text) => /Content Security Policy/i.test(text))).toEqual([]);
  });
});
