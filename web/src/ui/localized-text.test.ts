import { expect, it } from 'vitest';
import { localized } from './localized-text.ts';

it.each([
  [{ en: 'Door', de: 'Tür' }, ['de-AT', 'en'], 'Tür'],
  [{ en: 'Door', 'de-AT': 'Tür' }, ['de-AT'], 'Tür'],
  [{ en: 'Door', fr: 'Porte' }, ['de'], 'Door'],
  [{ fr: 'Porte' }, ['de'], 'Porte'],
  [{}, ['de'], ''],
])('%o for a reader of %o is "%s"', (texts: Record<string, string>, languages, text) => {
  expect(localized(texts, languages)).toBe(text);
});
