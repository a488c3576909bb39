create table audit_events (
  org_id text not null,
  occurred_at timestamptz not null default clock_timestamp(),
  id text not null,
  event_type text not null,
  outcome text not null check (outcome in ('succeeded', 'failed', 'denied', 'unknown')),
  source text not null,
  actor_kind text not null,
  actor_user_id text,
  actor_agent_id text,
  actor_api_key_id text,
  actor_guest_id text,
  resource_type text,
  resource_id text,
  correlation_id text,
  details jsonb not null default '{}',
  primary key (org_id, occurred_at, id)
) partition by range (occurred_at);

create index audit_events_correlation on audit_events (org_id, correlation_id);
create index audit_events_resource on audit_events (org_id, resource_id, occurred_at);

-- Catches what no daily partition takes (a stopped maintenance timer, a jumping clock): no event is ever refused.
create table audit_events_default partition of audit_events default;

-- The service's role may not create tables, so this one door is open to it. Attaching an empty table, not creating it as
-- a partition: that would wait for, and hold up, every transaction that writes an event.
create function ensure_audit_partitions(p_from date, p_days int) returns int
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  day date;
  day_start timestamptz;
  day_end timestamptz;
  name text;
  made int := 0;
begin
  perform pg_advisory_xact_lock(hashtext('lintel audit partitions'));
  perform set_config('lintel.org', '*', true);
  for i in 0 .. p_days - 1 loop
    day := p_from + i;
    day_start := day::timestamp at time zone 'UTC';
    day_end := (day + 1)::timestamp at time zone 'UTC';
    name := 'audit_events_' || to_char(day, 'YYYYMMDD');
    -- A day whose first events fell into the default partition stays there: moving them is not worth a lock.
    if to_regclass(name) is null and not exists (
      select from audit_events_default where occurred_at >= day_start and occurred_at < day_end
    ) then
      execute format('create table %I (like audit_events including defaults including constraints)', name);
      -- No grants and no policy: the events are reached through audit_events only, whose policy then holds.
      execute format('alter table %I enable row level security', name);
      execute format('alter table %I force row level security', name);
      execute format('alter table audit_events attach partition %I for values from (%L) to (%L)', name, day_start,
        day_end);
      made := made + 1;
    end if;
  end loop;
  return made;
end $$;
