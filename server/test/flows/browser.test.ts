// What a person does with the printed link, in a real browser against the service as `npm start` runs it.
import { createClient } from '@lintel/contract/client';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  launchBrowser,
  openPage,
  type RunningService,
  startFirstRun,
  type WatchedPage,
} from '../support/browser.ts';

let service: RunningService;
let browser: Browser;
let administrator: WatchedPage;
let page: Page;
const password = 'a lintel carries the wall';

beforeAll(async () => {
  [service, browser] = await Promise.all([startFirstRun(), launchBrowser()]);
  administrator = await openPage(browser, { locale: 'en-GB' });
  page = administrator.page;
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

/** Each test takes the complaints it expects; nothing else may be left. */
afterEach(() => expect(administrator.complaints()).toEqual([]));

const asKey = () => createClient({ baseUrl: service.printed.api_base, token: service.printed.api_key });
const row = (name: string) =>
  page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) });
const press = (name: string) => page.getByRole('button', { name, exact: true });
const at = (path: string) => page.waitForURL(`${service.printed.url}${path}`);

describe('the printed link', () => {
  it('asks before it is spent, then leads to the demo doors', async () => {
    await page.goto(service.printed.sign_in_url);
    await page.getByRole('button', { name: /sign in/i }).click();
    await at('/');
    await page.getByRole('heading', { level: 1, name: 'Maple Court' }).waitFor();
    for (const name of ['Front door', 'Side door', 'Courtyard gate', 'Garage door'])
      await row(name).getByText('Closed').waitFor();
    for (const name of ['Lobby light', 'Stairwell light']) await row(name).getByText('Off').waitFor();
    await page.getByText('Administrator', { exact: true }).waitFor();
  });

  it('opens the front door, and the audit knows the same correlation id', async () => {
    await press('Open Front door').click();
    await row('Front door')
      .getByText(/^Opened in /)
      .waitFor();
    await row('Front door').locator('.status', { hasText: 'Open' }).waitFor();
    const correlationId = (await row('Front door').locator('.correlation').textContent()) ?? '';
    const events = await asKey()('list_audit_events', {
      params: { org_id: service.printed.org_id },
      query: { correlation_id: correlationId },
    });
    expect(events.items).toMatchObject([
      {
        event_type: 'entity.action',
        outcome: 'succeeded',
        actor_kind: 'user',
        resource_id: service.printed.demo.front_door,
      },
    ]);
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Open · Front door' })
      .getByText(correlationId)
      .waitFor();
  });

  it('shows without a reload that the door closed itself, and what others do', async () => {
    await row('Front door').getByText('Closed').waitFor();
    const { lobby_light: id = '' } = service.printed.demo;
    await asKey()('execute_entity_action', { params: { id, action_id: 'on' }, body: {} });
    await row('Lobby light').getByText('On', { exact: true }).waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Open · Lobby light by an API key' })
      .first()
      .waitFor();
  });

  it('can be worked by keyboard alone, and keeps the focus over a refresh', async () => {
    await press('Turn on Stairwell light').focus();
    await page.keyboard.press('Enter');
    await row('Stairwell light')
      .getByText(/^Turned on in /)
      .waitFor();
    const focused = await page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    expect(focused).toMatch(/ Stairwell light$/);
  });

  it('sends a key of its own with each press, and takes no press right after a button changed its meaning', async () => {
    const keys: (string | null)[] = [];
    await page.route('**/actions/**', async (route) => {
      keys.push(await route.request().headerValue('idempotency-key'));
      await route.continue();
    });
    await press('Open Side door').evaluate(clickAndClickAgain, 'Close');
    await row('Side door')
      .getByText(/^Opened in /)
      .waitFor();
    await press('Open Garage door').click();
    await row('Garage door')
      .getByText(/^Opened in /)
      .waitFor();
    await page.unroute('**/actions/**');
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(new Set(keys).size).toBe(2);
  });

  it('works once, and says so politely the second time', async () => {
    const second = await openPage(browser);
    const answer = await second.page.goto(service.printed.sign_in_url);
    expect(answer?.status()).toBe(410);
    await second.page.getByRole('heading', { name: /does not work any more/ }).waitFor();
    await second.page.context().close();
  });
});

describe('what went wrong', () => {
  const answerPress = (status: number, code: string, headers: Record<string, string> = {}) =>
    page.route('**/actions/**', (route) =>
      route.fulfill({
        status,
        headers,
        json: { code, error_code: code, message: 'for programs', correlationId: 'COR-1' },
      }),
    );

  afterEach(() => page.unroute('**/actions/**'));

  it.each([
    [409, 'outcome_unknown', 'It may have moved: look before you press again.'],
    [502, 'device_unreachable', 'Nothing happened; you can try again.'],
    [429, 'provider_open_rate_limited', 'Try again in 7 s.'],
  ])('is told with its correlation id: %i %s', async (status, code, text) => {
    await answerPress(status, code, { 'retry-after': '7' });
    await press('Open Courtyard gate').click();
    await row('Courtyard gate').getByText(text).waitFor();
    await row('Courtyard gate').getByText('COR-1').waitFor();
    expect(administrator.complaints()).toEqual([expect.stringContaining(String(status))]);
  });

  it('is not known when the connection breaks', async () => {
    await page.route('**/actions/**', (route) => route.abort());
    await press('Open Courtyard gate').click();
    await row('Courtyard gate').getByText('look before you press again').waitFor();
    expect(administrator.complaints()).toEqual([expect.stringContaining('ERR_FAILED')]);
  });

  it('marks the page as out of date while the service is away', async () => {
    await page.route('**/api/v1/entities?**', (route) => route.abort());
    const warning = page.getByText('What you see may be out of date.');
    await warning.waitFor();
    await page.unroute('**/api/v1/entities?**');
    await warning.waitFor({ state: 'hidden' });
    expect(administrator.complaints().every((text) => text.includes('ERR_FAILED'))).toBe(true);
  });
});

describe('the account', () => {
  it('stays signed in over a reload', async () => {
    await page.reload();
    await press('Open Front door').waitFor();
  });

  it('takes a password, after refusing a common one', async () => {
    await press('Set a password').click();
    await page.getByLabel('New password').fill('password123');
    await press('Set password').click();
    await page.getByText('far too common').waitFor();
    expect(administrator.complaints()).toEqual([expect.stringContaining('400')]);
    await page.getByLabel('New password').fill(password);
    await press('Set password').click();
    await page.getByText('The password is set.').waitFor();
    await page.reload();
    await press('Open Front door').waitFor();
    expect(await press('Set a password').count()).toBe(0);
  });

  it('leaves by signing out, and comes back with the password only', async () => {
    await signOutWhileThePageAsks();
    await page.goto(service.printed.url);
    await at('/sign-in');
    await page.getByLabel('E-mail address').fill(service.printed.admin.email);
    await page.getByLabel('Password').fill('not the password');
    await press('Sign in').click();
    await page.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor();
    expect(administrator.complaints()).toEqual([expect.stringContaining('400')]);
    await page.getByLabel('Password').fill(password);
    await press('Sign in').click();
    await at('/');
    await row('Front door').getByText('Closed').waitFor();
    expect(await press('Set a password').count()).toBe(0);
  });

  it('switches between organizations and remembers the choice', async () => {
    await page.getByLabel('Organization').selectOption({ label: 'Lintel' });
    await page.getByText('There is nothing to open here yet.').waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Lintel' }).waitFor();
    await page.getByLabel('Organization').selectOption({ label: 'Maple Court' });
    await row('Front door').waitFor();
  });
});

/** The page asks for the doors, and that reaches the service after the session has ended: no failure of anybody. */
async function signOutWhileThePageAsks(): Promise<void> {
  const asked = Promise.withResolvers<Route>();
  await page.route('**/api/v1/entities?**', asked.resolve);
  await page.route('**/auth/logout', async (route) => {
    const response = await route.fetch();
    const late = await asked.promise;
    await late.continue();
    await late.request().response();
    await route.fulfill({ response });
  });
  await asked.promise;
  await press('Sign out').click();
  await at('/sign-in');
  await page.unrouteAll();
}

describe('an invitation', () => {
  const email = 'nina@maple-court.example';

  it('lets a newcomer register with the link and join with the PIN', async () => {
    const roles = ['entities:list', 'entities:set_state', 'orgs:read'];
    const { redeem_url, pin } = await asKey()('create_invitation', {
      params: { id: service.printed.org_id },
      body: { email, default_roles: roles },
    });
    const guest = await openPage(browser, { viewport: { width: 390, height: 844 } });
    await guest.page.goto(redeem_url);
    await guest.page.getByRole('heading', { level: 1, name: 'Join Maple Court' }).waitFor();
    await guest.page.getByLabel('E-mail address').fill(email);
    await guest.page.getByLabel('Name').fill('Nina Okafor');
    await guest.page.getByLabel('Password').fill(password);
    await guest.page.getByRole('button', { name: 'Create account' }).click();
    await guest.page.getByLabel('PIN').fill(pin === '0000' ? '1111' : '0000');
    await guest.page.getByRole('button', { name: 'Join' }).click();
    await guest.page.getByText('This PIN is wrong.').waitFor();
    expect(guest.complaints()).toEqual([expect.stringContaining('422')]);
    await guest.page.getByLabel('PIN').fill(pin);
    await guest.page.getByRole('button', { name: 'Join' }).click();
    await guest.page.waitForURL(`${service.printed.url}/`);
    await guest.page.getByRole('button', { name: 'Open Front door' }).waitFor();
    expect(await guest.page.getByRole('heading', { name: 'Recent activity' }).count()).toBe(0);
    expect(await widthBeyondScreen(guest.page)).toBe(0);
    expect(guest.complaints()).toEqual([]);
    await guest.page.goto(redeem_url);
    await guest.page.getByText('This invitation was used already.').waitFor();
    await guest.page.context().close();
  });

  it('is refused with a broken link', async () => {
    const guest = await openPage(browser);
    await guest.page.goto(`${service.printed.url}/join#token=not-a-token-of-this-service`);
    await guest.page.getByText('not valid any more').waitFor();
    expect(guest.complaints()).toEqual([expect.stringContaining('404')]);
    await guest.page.context().close();
  });

  it('leaves no denial behind: the pages ask only for what the person may see', async () => {
    const { items } = await asKey()('list_audit_events', {
      params: { org_id: service.printed.org_id },
      query: { event_type: 'access.denied' },
    });
    expect(items).toEqual([]);
  });
});

/** The second half of a slow double click: it comes in the moment in which the label has changed. */
function clickAndClickAgain(button: Element, label: string): Promise<void> {
  return new Promise((resolve) => {
    const click = () => button.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    const observer = new MutationObserver(() => {
      if (button.textContent !== label) return;
      observer.disconnect();
      click();
      resolve();
    });
    observer.observe(button, { childList: true, characterData: true, subtree: true });
    click();
  });
}

/** Something wider than the screen would make a phone scroll sideways. */
function widthBeyondScreen(target: Page): Promise<number> {
  return target.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
