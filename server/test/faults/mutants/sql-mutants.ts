import type { TestDatabase } from '../../support/test-database.ts';

interface Edit {
  readonly of: 'open_intents' | 'finish_intents';
  /** As they stand in the function; one that is not found any more fails the test, so that no mutant grows old unseen. */
  readonly replace: readonly (readonly [text: string, by: string])[];
}

const fingerprintOfProof = "and c.fingerprint = decode(n.fingerprint, 'hex')";

/** Nobody spends the proof before another transaction has found it too. It must not set FOUND where nothing was found. */
const untilTwoHaveLooked = `
  if found then
    perform pg_advisory_xact_lock_shared(4711);
    while clock_timestamp() < now() + interval '4 seconds' and 2 > (
      select count(*) from pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and l.locktype = 'advisory' and l.objid = 4711
    ) loop
      perform pg_sleep(0.01);
    end loop;
  end if;`;

/** Faults in T1 and T2 themselves: the functions of the database with one line changed. */
export const sqlMutants = {
  'proof bound to nothing': { of: 'open_intents', replace: [[fingerprintOfProof, '']] },
  'proof looked at, not locked': {
    of: 'open_intents',
    replace: [['and c.expires_at > now() for update;', `and c.expires_at > now(); ${untilTwoHaveLooked}`]],
  },
  'interval looked at, not reserved': {
    of: 'open_intents',
    replace: [
      ['if n.min_interval_ms > 0 then', 'if n.min_interval_ms > 0 then perform pg_sleep(0.01);'],
      [
        'where d.last_dispatch_at <= clock_timestamp() - make_interval(secs => n.min_interval_ms / 1000.0)',
        'where not exists (select from intents i where i.org_id = n.org_id and i.integration_id = n.integration_id and i.id <> n.id)',
      ],
    ],
  },
  'epoch not compared': {
    of: 'open_intents',
    replace: [
      ['and (select e.epoch from org_epochs e where e.org_id = a.org_id) = a.epoch', ''],
      ['(select e.epoch from org_epochs e where e.org_id = n.org_id) is distinct from n.epoch', 'false'],
    ],
  },
  'counters set, not added': {
    of: 'open_intents',
    replace: [['do update set count = u.count + excluded.count', 'do update set count = excluded.count + 1']],
  },
  'outcomes written over': { of: 'finish_intents', replace: [["and t.state = 'dispatching'", '']] },
} satisfies Record<string, Edit>;

export type SqlMutantName = keyof typeof sqlMutants;

/** Runs `work` while the database has the fault, then puts the real function back. */
export async function withSqlMutant<T>(
  db: TestDatabase,
  name: SqlMutantName,
  work: () => Promise<T>,
): Promise<T> {
  const { of, replace }: Edit = sqlMutants[name];
  const [found] = await db.query<{ definition: string }>(
    'select pg_get_functiondef(oid) as definition from pg_proc where proname = $1',
    [of],
  );
  const real = found?.definition ?? '';
  const faulty = replace.reduce((text, [part, by]) => {
    if (!text.includes(part))
      throw new Error(`the mutant "${name}" does not fit the function any more: ${part}`);
    return text.replaceAll(part, by);
  }, real);
  await db.query(faulty);
  try {
    return await work();
  } finally {
    await db.query(real);
  }
}
