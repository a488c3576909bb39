-- T1 and T2 for many requests in one call: a commit, a round trip and the start of a plan are shared by all that wait.
-- The plans below are made once and go by the keys, whatever size the tables had when they were made.

drop function open_intent;

-- T1. For each row: everything that must hold at the moment a command is allowed. A refused row leaves nothing behind:
-- a refused interval burns no proof, a bad proof reserves no interval, and neither leaves an intent.
create function open_intents(p_rows jsonb, p_stripe int)
returns table (out_id text, verdict text, existing_id text, existing_state text, existing_result jsonb,
  same_request boolean, wait_ms int)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  n record;
  opened text[];
begin
  perform set_config('lintel.org', '*', true);
  -- One row that waits for a lock must not hold up the others: they are then called one by one, without this limit.
  if jsonb_array_length(p_rows) > 1 then perform set_config('lock_timeout', '1s', true); end if;

  -- The common case, all rows at once: nothing but the epoch, the expiry and the key can refuse them.
  with asked as (
    select * from jsonb_to_recordset(p_rows) as r (
      id text, org_id text, epoch bigint, expires_at timestamptz, entity_id text, device_id text, integration_id text,
      action_id text, principal_kind text, principal_id text, actor jsonb, source text, details jsonb,
      correlation_id text, idempotency_key text, fingerprint text, deadline_ms int, plain boolean)
  ), inserted as (
    insert into intents (org_id, id, entity_id, device_id, integration_id, action_id, principal_kind, principal_id,
      actor, source, details, correlation_id, idempotency_key, fingerprint, not_after)
    select a.org_id, a.id, a.entity_id, a.device_id, a.integration_id, a.action_id, a.principal_kind, a.principal_id,
      a.actor, a.source, a.details, a.correlation_id, a.idempotency_key, decode(a.fingerprint, 'hex'),
      now() + make_interval(secs => a.deadline_ms / 1000.0)
    from asked a
    where a.plain and (a.expires_at is null or a.expires_at > now())
      and (select e.epoch from org_epochs e where e.org_id = a.org_id) = a.epoch
    -- One order for all batches, so that two with the same keys never wait for each other in a circle.
    order by a.org_id, a.principal_id, a.idempotency_key
    on conflict (org_id, principal_id, idempotency_key) where idempotency_key is not null do nothing
    returning id
  ) select coalesce(array_agg(id), '{}') into opened from inserted;

  -- What was not plain, or was refused, one by one.
  if cardinality(opened) < jsonb_array_length(p_rows) then
    for n in
      select * from jsonb_to_recordset(p_rows) as r (
        id text, org_id text, epoch bigint, expires_at timestamptz, entity_id text, device_id text, integration_id text,
        action_id text, principal_kind text, principal_id text, actor jsonb, source text, details jsonb,
        correlation_id text, idempotency_key text, fingerprint text, deadline_ms int, confirmation text,
        min_interval_ms int, close_after_ms int, needs_approval boolean)
      where r.id <> all (opened) order by r.org_id, r.integration_id, r.id
    loop
      out_id := n.id;
      existing_id := null;
      existing_state := null;
      existing_result := null;
      same_request := null;
      wait_ms := null;

      if (select e.epoch from org_epochs e where e.org_id = n.org_id) is distinct from n.epoch then
        verdict := 'stale';
        return next;
        continue;
      end if;
      if n.expires_at <= now() then
        verdict := 'expired';
        return next;
        continue;
      end if;

      insert into intents (org_id, id, entity_id, device_id, integration_id, action_id, principal_kind, principal_id,
        actor, source, details, correlation_id, idempotency_key, fingerprint, not_after)
      values (n.org_id, n.id, n.entity_id, n.device_id, n.integration_id, n.action_id, n.principal_kind, n.principal_id,
        n.actor, n.source, n.details, n.correlation_id, n.idempotency_key, decode(n.fingerprint, 'hex'),
        now() + make_interval(secs => n.deadline_ms / 1000.0))
      on conflict (org_id, principal_id, idempotency_key) where idempotency_key is not null do nothing;
      if not found then
        select 'exists', i.id, i.state, i.result, i.fingerprint = decode(n.fingerprint, 'hex')
        into verdict, existing_id, existing_state, existing_result, same_request from intents i
        where i.org_id = n.org_id and i.principal_id = n.principal_id and i.idempotency_key = n.idempotency_key;
        -- Its key was released in this instant: nothing was sent for it, so the request may start over.
        if not found then verdict := 'stale'; end if;
        return next;
        continue;
      end if;

      -- Proof and approval are locked before the interval is reserved and spent after it: whichever refuses, the others
      -- are untouched.
      if n.confirmation is not null then
        perform from confirmations c where c.org_id = n.org_id and c.token_hash = decode(n.confirmation, 'hex')
          and c.fingerprint = decode(n.fingerprint, 'hex') and c.expires_at > now() for update;
        if not found then
          delete from intents i where i.org_id = n.org_id and i.id = n.id;
          verdict := 'confirmation_invalid';
          return next;
          continue;
        end if;
      end if;

      if n.needs_approval then
        perform from policy_approvals a where a.org_id = n.org_id and a.fingerprint = decode(n.fingerprint, 'hex')
          and a.status = 'approved' and a.expires_at > now() order by a.id limit 1 for update;
        if not found then
          delete from intents i where i.org_id = n.org_id and i.id = n.id;
          verdict := 'approval_missing';
          return next;
          continue;
        end if;
      end if;

      -- By the clock, not by the start of the transaction: this row may have been waited for.
      if n.min_interval_ms > 0 then
        insert into dispatch_intervals as d (org_id, integration_id, last_dispatch_at)
        values (n.org_id, n.integration_id, clock_timestamp())
        on conflict (org_id, integration_id) do update set last_dispatch_at = clock_timestamp()
          where d.last_dispatch_at <= clock_timestamp() - make_interval(secs => n.min_interval_ms / 1000.0);
        if not found then
          select greatest(ceil(extract(epoch from (d.last_dispatch_at - clock_timestamp())) * 1000)::int
            + n.min_interval_ms, 1) into wait_ms
          from dispatch_intervals d where d.org_id = n.org_id and d.integration_id = n.integration_id;
          delete from intents i where i.org_id = n.org_id and i.id = n.id;
          verdict := 'interval';
          return next;
          continue;
        end if;
      end if;

      if n.confirmation is not null then
        delete from confirmations c where c.org_id = n.org_id and c.token_hash = decode(n.confirmation, 'hex');
      end if;

      if n.needs_approval then
        update policy_approvals a set status = 'used' where a.org_id = n.org_id and a.id = (
          select g.id from policy_approvals g where g.org_id = n.org_id and g.fingerprint = decode(n.fingerprint, 'hex')
            and g.status = 'approved' and g.expires_at > now() order by g.id limit 1);
      end if;

      if n.close_after_ms is not null then
        insert into close_jobs (org_id, entity_id, due_at)
        values (n.org_id, n.entity_id, now() + make_interval(secs => n.close_after_ms / 1000.0))
        on conflict (org_id, entity_id) do update set due_at = excluded.due_at, attempts = 0;
      end if;
      opened := opened || n.id;
    end loop;
  end if;

  -- Counters last: their rows are shared, so they are held only for the commit. In one order.
  insert into usage_counters as u (org_id, key, day, stripe, count)
  select r.org_id, counted.key, (now() at time zone 'UTC')::date, p_stripe, count(*)
  from jsonb_to_recordset(p_rows) as r (id text, org_id text, counters jsonb),
    jsonb_array_elements_text(r.counters) as counted (key)
  where r.id = any (opened) group by r.org_id, counted.key order by r.org_id, counted.key
  on conflict (org_id, key, day, stripe) do update set count = u.count + excluded.count;

  verdict := 'opened';
  existing_id := null;
  existing_state := null;
  existing_result := null;
  same_request := null;
  wait_ms := null;
  foreach out_id in array opened loop
    return next;
  end loop;
end $$;

-- T2. Only an intent that is still dispatching is finished, and only then is its event written: whoever comes second (a
-- late answer after recovery, a repeated call after a lost acknowledgement) changes nothing and reads what stands.
create or replace function finish_intents(p_rows jsonb) returns table (out_id text, out_state text)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  finished int;
begin
  perform set_config('lintel.org', '*', true);
  return query
  with asked as materialized (
    select r.*, found_at.ctid as at from jsonb_to_recordset(p_rows) as r (
      org_id text, id text, state text, result jsonb, release_key boolean, event_id text, outcome text, details jsonb,
      status text, status_source text, place int)
    -- With a limit it can not be turned around: each row is looked up by its key, and never each intent among the rows.
    cross join lateral (select i.ctid from intents i where i.org_id = r.org_id and i.id = r.id limit 1) as found_at
    order by r.org_id, r.id
  ), done as (
    update intents t set state = n.state, result = n.result, finished_at = clock_timestamp(),
      idempotency_key = case when n.release_key then null else t.idempotency_key end
    from asked n where t.ctid = n.at and t.state = 'dispatching'
    returning t.org_id, t.id, t.state, t.entity_id, t.source, t.actor, t.correlation_id, t.details as intent_details,
      n.event_id, n.outcome, n.details, n.status, n.status_source, n.place
  ), told as (
    insert into audit_events (org_id, id, event_type, outcome, source, actor_kind, actor_user_id, actor_agent_id,
      actor_api_key_id, actor_guest_id, resource_type, resource_id, correlation_id, details)
    select d.org_id, d.event_id, 'entity.action', d.outcome, d.source, d.actor ->> 'kind', d.actor ->> 'userId',
      d.actor ->> 'agentId', d.actor ->> 'apiKeyId', d.actor ->> 'guestId', 'entity', d.entity_id, d.correlation_id,
      d.intent_details || d.details || jsonb_build_object('attempt_id', d.id)
    from done d
  ), closed as (
    delete from close_jobs j using done d
    where d.state = 'succeeded' and d.intent_details ->> 'command' = 'close'
      and j.org_id = d.org_id and j.entity_id = d.entity_id
  ), seen as (
    -- Of several states of one door the last one counts.
    insert into entity_states as s (org_id, entity_id, status, source, observed_at)
    select distinct on (d.org_id, d.entity_id) d.org_id, d.entity_id, d.status, d.status_source, clock_timestamp()
    from done d
    where d.status is not null order by d.org_id, d.entity_id, d.place desc
    on conflict (org_id, entity_id) do update
      set status = excluded.status, source = excluded.source, observed_at = excluded.observed_at
  )
  select d.id, d.state from done d;
  get diagnostics finished = row_count;
  if finished < jsonb_array_length(p_rows) then
    return query select t.id, t.state from jsonb_to_recordset(p_rows) as r (org_id text, id text)
      join intents t on t.org_id = r.org_id and t.id = r.id;
  end if;
end $$;
grant execute on function open_intents, finish_intents to lintel_app;
