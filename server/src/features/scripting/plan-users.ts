import { belongsElsewhere } from '../../auth/role-grants.store.ts';
import { AppError } from '../../kernel/app-error.ts';
import { type OrgScope, principalOf } from '../../kernel/call.ts';
import { isDeleted } from './plan-overlay.ts';
import type { PlanContext } from './planned-records.ts';
import type { Fields } from './script-fields.ts';
import type { ScriptRecord } from './script-records.ts';
import { isEmailTaken } from './scripting.store.ts';

const taken = () => new AppError('already_exists', 'a user with this id or address exists');

/** The fields with the address as it is stored: one that nobody else has. */
export async function plannedUserFields(context: PlanContext, id: string, fields: Fields): Promise<Fields> {
  if (typeof fields.email !== 'string') return fields;
  const email = context.parseEmail(fields.email);
  const users = context.overlay.all('user');
  if (users.some((user) => user.id !== id && holds(user.record, email))) throw taken();
  // Who the plan has touched is known by what the plan made of them.
  const known = [id, ...users.map((user) => user.id)];
  // As the service: whoever has the address may be anywhere.
  if (await context.db.asService((tx) => isEmailTaken(tx, email, known))) throw taken();
  return { ...fields, email };
}

const holds = (record: ScriptRecord | null, email: string): boolean =>
  record !== null && !isDeleted(record) && record.email === email;

/** Who holds a person's address can become that person, everywhere they belong. */
export async function requireWholeUser(
  { caller, db, overlay }: PlanContext,
  org: OrgScope,
  before: ScriptRecord,
  email: unknown,
): Promise<void> {
  const id = String(before.id);
  if (email === undefined || email === before.email || overlay.get('user', id)?.isNew === true) return;
  const { grants } = principalOf(caller.call);
  const administered = grants.filter(({ role }) => role === 'admin').map(({ orgId }) => orgId);
  // As the service: their organizations may be anywhere.
  if (await db.asService((tx) => belongsElsewhere(tx, id, administered, org.id)))
    throw new AppError('user_in_other_orgs', 'the user also belongs to organizations out of your reach');
}
