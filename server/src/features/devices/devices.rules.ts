import { invalid } from '../../kernel/app-error.ts';
import { canonicalLocale } from '../../kernel/text.ts';
import type { DeviceIdentity, ProviderManifest } from '../../providers/provider.ts';
import { hardwareIdOf } from '../../providers/record-rules.ts';

/** `de-AT` → de-AT, de: where to look for a name, most wanted first. English unless a locale is given. */
export function localeChain(text: string | undefined): string[] {
  const locale = canonicalLocale(text ?? 'en');
  if (locale === null) throw invalid('/locale', 'must be a BCP 47 locale such as en or de-AT');
  const parts = locale.split('-');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
}

/** Whether an edit makes it another piece of hardware: of one that is not known world-wide, its name at its far side. */
export function isOther(
  manifest: ProviderManifest | null,
  before: DeviceIdentity,
  after: DeviceIdentity,
): boolean {
  const hardwareId = hardwareIdOf(manifest, after);
  if (hardwareId !== hardwareIdOf(manifest, before)) return true;
  return hardwareId === null && before.externalId !== after.externalId;
}
