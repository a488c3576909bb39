import type { Context } from '../context.ts';
import { usageError } from '../exit.ts';

/** The organization that was named, or the one of the API key. */
export async function orgOf({ settings, client }: Context): Promise<string> {
  if (settings.orgId !== null) return settings.orgId;
  const { org_id: orgId, roles } = await client('get_me_profile', {});
  const [only, ...others] = Object.keys(roles);
  if (orgId !== null) return orgId;
  if (only !== undefined && others.length === 0) return only;
  throw usageError('The caller belongs to several organizations', 'Name one with --org.');
}
