-- How much an organization may have and use. A limit comes from an override for the organization, else from its tier,
-- else there is none. Null is unlimited, also as an override of a tier.
create table quota_tiers (
  slug text primary key check (slug ~ '^[a-z][a-z0-9_-]{0,62}$'),
  -- '<key>:<period>' → limit, e.g. {"devices:lifetime": 50, "door_opens:day": 1000}
  limits jsonb not null default '{}' check (jsonb_typeof(limits) = 'object'),
  is_default boolean not null default false
);
create unique index quota_tiers_default on quota_tiers (is_default) where is_default;
insert into quota_tiers (slug, is_default) values ('standard', true);
grant select on quota_tiers to lintel_app;

-- Null: the default tier.
alter table orgs add column tier_slug text references quota_tiers (slug);

create table quota_overrides (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  quota_key text not null,
  period text not null check (period in ('lifetime', 'day', 'week', 'month', 'per_session')),
  limit_value bigint check (limit_value >= 0),
  reason text,
  expires_at timestamptz,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, quota_key, period),
  unique (id)
);
alter table quota_overrides enable row level security;
alter table quota_overrides force row level security;
create policy tenant on quota_overrides using (visible_org(org_id)) with check (visible_org(org_id));
grant select, insert, update, delete on quota_overrides to lintel_app;

-- Limits change decisions: what was read under an epoch holds under it. An expiry is no change, so readers keep it.
create trigger bump_epoch_insert after insert on quota_overrides referencing new table as new_rows
  for each statement execute function bump_epoch_of_changed_rows('self');
create trigger bump_epoch_update after update on quota_overrides referencing new table as new_rows
  for each statement execute function bump_epoch_of_changed_rows('self');
create trigger bump_epoch_delete after delete on quota_overrides referencing old table as old_rows
  for each statement execute function bump_epoch_of_changed_rows('self');
create trigger bump_epoch_tier after update of tier_slug on orgs
  for each row when (old.tier_slug is distinct from new.tier_slug) execute function bump_epochs_of_org();

create function bump_epochs_of_everyone() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
begin
  perform set_config('lintel.org', '*', true);
  perform bump_epochs(array(select org_id from org_epochs));
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;
create trigger bump_epochs after insert or update or delete on quota_tiers
  for each statement execute function bump_epochs_of_everyone();

-- The one place that says which limit holds, and where it comes from.
create function quota_limit(
  p_org text, p_key text, p_period text,
  out value bigint, out source text, out ref text, out expires_at timestamptz
)
language sql stable as $$
  select case when v.id is null then (t.limits ->> n.name)::bigint else v.limit_value end,
    case when v.id is not null then 'override' when t.limits ? n.name then 'tier' else 'default' end,
    case when v.id is not null then v.id when t.limits ? n.name then t.slug end,
    v.expires_at
  from orgs o
  cross join (select p_key || ':' || p_period as name) n
  left join quota_tiers t on t.slug = o.tier_slug or (o.tier_slug is null and t.is_default)
  left join quota_overrides v on v.org_id = o.id and v.quota_key = p_key and v.period = p_period
    and (v.expires_at is null or v.expires_at > now())
  where o.id = p_org
$$;

-- What is there now. Deleted records and revoked keys take no place; bringing them back is checked like a creation.
-- Volatile on purpose: it must see what was committed while its caller waited for the lock.
create function capacity_used(p_org text, p_key text) returns bigint
language plpgsql as $$
begin
  return case p_key
    when 'entities' then (select count(*) from entities where org_id = p_org and deleted_at is null)
    when 'devices' then (select count(*) from devices where org_id = p_org and deleted_at is null)
    when 'zones' then (select count(*) from zones where org_id = p_org and deleted_at is null)
    when 'integrations' then (select count(*) from integrations where org_id = p_org and deleted_at is null)
    when 'api_keys' then (select count(*) from api_keys where org_id = p_org and revoked_at is null)
    when 'org_users' then (select count(distinct g.user_id) from role_grants g join users u on u.id = g.user_id
      where g.org_id = p_org and u.deleted_at is null)
    -- Personal organizations are made by whoever signs up, not by the one above them.
    when 'organizations' then (select count(*) from orgs
      where parent_id = p_org and deleted_at is null and not is_personal)
  end;
end $$;

-- Asked after p_added more are in, in their transaction: one over the limit undoes it all. Two at the last place meet
-- at a lock, which is taken only where there is a limit.
create function refuse_over_capacity(p_org text, p_key text, p_added bigint) returns void
language plpgsql as $$
declare
  allowed bigint;
  used bigint;
begin
  select l.value into allowed from quota_limit(p_org, p_key, 'lifetime') l;
  if allowed is null then return; end if;
  if p_key = 'organizations' then
    perform pg_advisory_xact_lock(hashtextextended('lintel quota organizations ' || p_org, 0));
  else
    -- The row that most changes of the organization hold anyway: one lock, so no two of them can wait in a circle.
    perform from org_epochs where org_id = p_org for update;
  end if;
  used := capacity_used(p_org, p_key);
  if used > allowed then
    raise exception 'quota_exceeded' using errcode = 'LN002', detail = json_build_object(
      'key', p_key, 'period', 'lifetime', 'current', used - p_added, 'limit', allowed)::text;
  end if;
end $$;

create function check_capacity_of_inserted() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
  added record;
begin
  perform set_config('lintel.org', '*', true);
  for added in select n.org_id, count(*) as n from new_rows n group by n.org_id order by n.org_id loop
    perform refuse_over_capacity(added.org_id, tg_argv[0], added.n);
  end loop;
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;

create function check_capacity_of_returned() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
begin
  perform set_config('lintel.org', '*', true);
  perform refuse_over_capacity(new.org_id, tg_argv[0], 1);
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;

-- The names of the triggers sort behind those that bump epochs: locks of epochs come first and in their one order.
do $$
declare
  tbl text;
begin
  foreach tbl in array array['entities', 'devices', 'zones', 'integrations', 'api_keys'] loop
    execute format('create trigger capacity_inserted after insert on %I referencing new table as new_rows
      for each statement execute function check_capacity_of_inserted(%L)', tbl, tbl);
    execute format('create trigger capacity_returned after update on %I
      for each row when (old.%2$I is not null and new.%2$I is null) execute function check_capacity_of_returned(%3$L)',
      tbl, case tbl when 'api_keys' then 'revoked_at' else 'deleted_at' end, tbl);
  end loop;
end $$;

-- A member is whoever has a role: a further role of the same person takes no further place.
create function check_capacity_of_members() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
  added record;
begin
  perform set_config('lintel.org', '*', true);
  for added in
    select n.org_id, count(distinct n.user_id) as n from new_rows n
    join users u on u.id = n.user_id and u.deleted_at is null
    where not exists (
      select from role_grants g where g.org_id = n.org_id and g.user_id = n.user_id and not exists (
        select from new_rows m where m.org_id = g.org_id and m.user_id = g.user_id and m.role = g.role))
    group by n.org_id order by n.org_id
  loop
    perform refuse_over_capacity(added.org_id, 'org_users', added.n);
  end loop;
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;
create trigger capacity_inserted after insert on role_grants referencing new table as new_rows
  for each statement execute function check_capacity_of_members();

create function check_capacity_of_returned_user() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
  member record;
begin
  perform set_config('lintel.org', '*', true);
  for member in select distinct g.org_id from role_grants g where g.user_id = new.id order by g.org_id loop
    perform refuse_over_capacity(member.org_id, 'org_users', 1);
  end loop;
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;
create trigger capacity_returned after update of deleted_at on users
  for each row when (old.deleted_at is not null and new.deleted_at is null)
  execute function check_capacity_of_returned_user();

create function check_capacity_of_parent() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
begin
  perform set_config('lintel.org', '*', true);
  perform refuse_over_capacity(new.parent_id, 'organizations', 1);
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;
create trigger capacity_inserted after insert on orgs
  for each row when (new.parent_id is not null and not new.is_personal) execute function check_capacity_of_parent();
create trigger capacity_returned after update of deleted_at, parent_id on orgs
  for each row when (new.deleted_at is null and not new.is_personal and new.parent_id is not null
    and (old.deleted_at is not null or old.parent_id is distinct from new.parent_id))
  execute function check_capacity_of_parent();

-- What was counted in the period that is running, UTC. Lifetime and per session are not counted here.
create function usage_counted(p_org text, p_key text, p_period text) returns bigint
language sql as $$
  select coalesce(sum(u.count), 0)::bigint from usage_counters u
  where u.org_id = p_org and u.key = p_key
    and u.day >= date_trunc(p_period, now() at time zone 'UTC')::date
$$;

-- One more use of a key that is refused above its limit. Counted and checked in the transaction of what it is for.
create function meter_usage(p_org text, p_key text, p_periods text[], p_stripe int) returns void
language plpgsql as $$
declare
  bound record;
  used bigint;
begin
  for bound in
    select p.period, l.value from unnest(p_periods) with ordinality as p (period, place)
    cross join lateral quota_limit(p_org, p_key, p.period) l where l.value is not null order by p.place
  loop
    perform pg_advisory_xact_lock(hashtextextended('lintel quota ' || p_key || ' ' || p_org, 0));
    used := usage_counted(p_org, p_key, bound.period);
    if used >= bound.value then
      raise exception 'quota_exceeded' using errcode = 'LN002', detail = json_build_object(
        'key', p_key, 'period', bound.period, 'current', used, 'limit', bound.value)::text;
    end if;
  end loop;
  insert into usage_counters as u (org_id, key, day, stripe, count)
  values (p_org, p_key, (now() at time zone 'UTC')::date, p_stripe, 1)
  on conflict (org_id, key, day, stripe) do update set count = u.count + 1;
end $$;
