-- Holds: a door that stays open, or stays closed, for good, until a moment or in weekly hours. Of one entity, or of a
-- device as a whole (then entity_id is null). Mode normal is no row.
create table door_holds (
  org_id text not null,
  id text not null,
  device_id text not null,
  entity_id text,
  mode text not null check (mode in ('hold_open', 'hold_closed')),
  kind text not null check (kind in ('permanent', 'temporary', 'recurring')),
  -- On a whole minute: decisions are kept that long.
  until timestamptz check (until = date_trunc('minute', until)),
  -- {"days": [1..7, Monday is 1], "start": "HH:MM", "end": "HH:MM"}, local time of the organization.
  recurrence jsonb,
  reason text,
  include_lights boolean not null default false,
  created_by text,
  created_at timestamptz not null default now(),
  primary key (org_id, id),
  unique (id),
  check ((kind = 'recurring') = (recurrence is not null)),
  check (kind <> 'temporary' or until is not null),
  check (kind <> 'permanent' or until is null),
  foreign key (org_id, device_id) references devices (org_id, id) on delete cascade,
  foreign key (org_id, entity_id) references entities (org_id, id) on delete cascade
);
create unique index door_holds_target on door_holds (org_id, device_id, coalesce(entity_id, ''));
create index door_holds_entity on door_holds (org_id, entity_id) where entity_id is not null;

-- While there is a row whose time is not over, nothing opens in the organization and below it.
create table org_lockdowns (
  org_id text primary key references orgs (id) on delete cascade,
  id text not null unique,
  reason text,
  until timestamptz check (until = date_trunc('minute', until)),
  created_by text,
  created_at timestamptz not null default now()
);

-- When an organization's holds must be looked at again: a window begins or ends, or something about them changed.
create table hold_jobs (
  org_id text primary key references orgs (id) on delete cascade,
  due_at timestamptz not null
);
create index hold_jobs_due on hold_jobs (due_at);

-- What the service itself opened, or is to open, for a window of a hold, and must close when it is over. Outlives the
-- hold, so no foreign key.
create table held_open (
  org_id text not null references orgs (id) on delete cascade,
  entity_id text not null,
  hold_id text not null,
  -- Which of its windows: the local day it began on; 0 for one that does not recur.
  window_day int not null,
  due_at timestamptz not null default now(),
  attempts int not null default 0,
  opened boolean not null default false,
  primary key (org_id, entity_id)
);
create index held_open_due on held_open (due_at) where not opened;

-- For those who forget them after a while.
create index policy_approvals_age on policy_approvals (created_at);

create function look_at_holds() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
  changed text[];
begin
  if tg_op = 'DELETE' then
    select array_agg(distinct org_id) into changed from old_rows;
  else
    select array_agg(distinct org_id) into changed from new_rows;
  end if;
  if changed is not null then
    perform set_config('lintel.org', '*', true);
    if tg_argv[0] = 'subtree' then
      update hold_jobs j set due_at = now() from (
        select h.org_id from hold_jobs h where h.org_id = any (subtree_of(changed)) order by h.org_id for update
      ) mine where j.org_id = mine.org_id;
    else
      insert into hold_jobs (org_id, due_at)
      select o.id, now() from orgs o where o.id = any (changed) order by o.id
      on conflict (org_id) do update set due_at = now();
    end if;
    perform set_config('lintel.org', coalesce(scope, ''), true);
  end if;
  return null;
end $$;

create function look_at_holds_of_org() returns trigger
language plpgsql as $$
begin
  update hold_jobs set due_at = now() where org_id = new.id;
  return null;
end $$;
create trigger look_at_holds after update of timezone on orgs for each row execute function look_at_holds_of_org();

-- A hold is of its own organization, a lockdown of everything below as well.
do $$
declare
  spec record;
  op text;
  seen text;
begin
  for spec in select * from (values ('door_holds', 'self'), ('org_lockdowns', 'subtree')) as t (tbl, reach) loop
    foreach op in array array['insert', 'update', 'delete'] loop
      seen := case op when 'delete' then 'old table as old_rows' else 'new table as new_rows' end;
      execute format('create trigger bump_epoch_%s after %s on %I referencing %s
        for each statement execute function bump_epoch_of_changed_rows(%L)', op, op, spec.tbl, seen, spec.reach);
      execute format('create trigger bump_version_%s after %s on %I referencing %s
        for each statement execute function bump_policy_versions()', op, op, spec.tbl, seen);
      execute format('create trigger look_at_holds_%s after %s on %I referencing %s
        for each statement execute function look_at_holds(%L)', op, op, spec.tbl, seen, spec.reach);
    end loop;
  end loop;
end $$;

do $$
declare
  tbl text;
begin
  foreach tbl in array array['door_holds', 'org_lockdowns', 'hold_jobs', 'held_open'] loop
    execute format('alter table %I enable row level security', tbl);
    execute format('alter table %I force row level security', tbl);
    execute format('create policy tenant on %I using (visible_org(org_id)) with check (visible_org(org_id))', tbl);
    execute format('grant select, insert, update, delete on %I to lintel_app', tbl);
  end loop;
end $$;
grant execute on function look_at_holds(), look_at_holds_of_org() to lintel_app;
