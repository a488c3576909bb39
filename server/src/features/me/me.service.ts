import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database } from '../../db/database.ts';
import type { Accounts } from '../../identity/accounts.ts';
import { homeOrgOf } from '../../identity/user-link.store.ts';
import { AppError, invalid } from '../../kernel/app-error.ts';
import { type Call, type Principal, principalOf } from '../../kernel/call.ts';
import { canonicalLocale, parseLocalizedText, pickText } from '../../kernel/text.ts';
import { findProfile, type Profile, updateProfile } from './me.store.ts';

export interface MeDeps {
  readonly db: Database;
  readonly rootOrgId: string;
  readonly accounts: Pick<Accounts, 'updateTraits'>;
}

export interface UpdateMeInput {
  readonly name?: unknown;
  readonly locale?: string | null;
}

export interface MeService {
  profile(principal: Principal): Promise<Profile>;
  update(call: Call, input: UpdateMeInput): Promise<Profile>;
}

export function createMeService(deps: MeDeps): MeService {
  return {
    profile: (principal) =>
      deps.db.inOrg(deps.rootOrgId, (tx) => findProfile(tx, principal.userId)).then(present),
    update: (call, input) => updateMe(deps, call, input),
  };
}

function present(profile: Profile | null): Profile {
  if (profile === null) throw new AppError('unauthorized', 'the user is gone');
  return profile;
}

async function updateMe(deps: MeDeps, call: Call, input: UpdateMeInput): Promise<Profile> {
  const { userId, grants } = principalOf(call);
  const locale = parseLocale(input.locale);
  const orgIds = new Set([deps.rootOrgId, ...grants.map((grant) => grant.orgId)]);
  return deps.db.inOrg([...orgIds], async (tx) => {
    const before = present(await findProfile(tx, userId));
    const name = parseName(input.name, locale ?? before.locale ?? 'en');
    const profile = present(await updateProfile(tx, userId, { name, locale }));
    if (name !== undefined) {
      const shown = pickText(name, profile.locale ?? 'en');
      await deps.accounts.updateTraits(tx, userId, { name: shown });
    }
    await recordEvent(tx, originOf(call), {
      orgId: await homeOrgOf(tx, userId, deps.rootOrgId),
      type: 'user.updated',
      resource: { type: 'user', id: userId, name: pickText(profile.name, profile.locale ?? 'en') },
      details: { changed: Object.keys(input).sort() },
    });
    return profile;
  });
}

function parseName(input: unknown, defaultLocale: string): Record<string, string> | undefined {
  if (input === undefined) return undefined;
  const name = parseLocalizedText(input, { defaultLocale, maxLength: 120 });
  if (!name.ok) throw invalid(`/name${name.path}`, name.reason);
  return name.value;
}

function parseLocale(input: string | null | undefined): string | null | undefined {
  if (input === undefined || input === null) return input;
  const locale = canonicalLocale(input);
  if (locale === null) throw invalid('/locale', 'must be a BCP 47 locale such as en or de-AT');
  return locale;
}
