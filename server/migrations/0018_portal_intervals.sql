-- T1 for portals: the interval of what it opens through is reserved with the portal's own commit, so that neither a
-- proof nor an approval is spent on an open that an interval then refuses. And an approval is found by what was
-- consented to: the request together with the policies that asked and how many people they ask for.
alter table intents add column reserved_opener_id text;

create or replace function open_intents(p_rows jsonb, p_stripe int)
returns table (out_id text, verdict text, existing_id text, existing_state text, existing_result jsonb,
  same_request boolean, wait_ms int)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  n record;
  o record;
  opened text[];
  chosen text;
  waits int;
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
    -- A portal may look at several intervals, in its own order: they are locked beforehand in one order for all.
    if exists (select from jsonb_to_recordset(p_rows) as r (openers jsonb) where jsonb_array_length(r.openers) > 0) then
      perform from dispatch_intervals d where (d.org_id, d.integration_id) in (
        select r.org_id, i.integration_id
        from jsonb_to_recordset(p_rows) as r (org_id text, integration_id text, openers jsonb),
          lateral (select r.integration_id union
            select p.integration_id from jsonb_to_recordset(r.openers) as p (integration_id text)) as i)
      order by d.org_id, d.integration_id for update;
    end if;

    for n in
      select * from jsonb_to_recordset(p_rows) as r (
        id text, org_id text, epoch bigint, expires_at timestamptz, entity_id text, device_id text, integration_id text,
        action_id text, principal_kind text, principal_id text, actor jsonb, source text, details jsonb,
        correlation_id text, idempotency_key text, fingerprint text, deadline_ms int, confirmation text,
        min_interval_ms int, close_after_ms int, needs_approval boolean, approval text, openers jsonb)
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

      -- A node of the version before names no approval: then it is the one of the request.
      if n.needs_approval and n.approval is null then n.approval := n.fingerprint; end if;
      if n.needs_approval then
        perform from policy_approvals a where a.org_id = n.org_id and a.fingerprint = decode(n.approval, 'hex')
          and a.status = 'approved' and a.expires_at > now() order by a.id limit 1 for update;
        if not found then
          delete from intents i where i.org_id = n.org_id and i.id = n.id;
          verdict := 'approval_missing';
          return next;
          continue;
        end if;
      end if;

      -- A portal is ready when one of the things it opens through is. The first that is, is reserved for it, so that
      -- what is spent below can not be lost to an interval any more.
      if jsonb_array_length(n.openers) > 0 then
        select greatest(ceil(extract(epoch from (d.last_dispatch_at - clock_timestamp())) * 1000)::int
          + n.min_interval_ms, 0) into waits
        from dispatch_intervals d
        where n.min_interval_ms > 0 and d.org_id = n.org_id and d.integration_id = n.integration_id;
        wait_ms := nullif(waits, 0);
        chosen := null;
        for o in
          select i.* from jsonb_array_elements(n.openers) with ordinality as e (opener, place),
            jsonb_to_record(e.opener) as i (entity_id text, integration_id text, min_interval_ms int)
          where wait_ms is null order by e.place
        loop
          if o.min_interval_ms > 0 then
            insert into dispatch_intervals as d (org_id, integration_id, last_dispatch_at)
            values (n.org_id, o.integration_id, clock_timestamp())
            on conflict (org_id, integration_id) do update set last_dispatch_at = clock_timestamp()
              where d.last_dispatch_at <= clock_timestamp() - make_interval(secs => o.min_interval_ms / 1000.0);
          end if;
          if o.min_interval_ms = 0 or found then
            chosen := o.entity_id;
            exit;
          end if;
          select greatest(ceil(extract(epoch from (d.last_dispatch_at - clock_timestamp())) * 1000)::int
            + o.min_interval_ms, 1) into waits
          from dispatch_intervals d where d.org_id = n.org_id and d.integration_id = o.integration_id;
          wait_ms := least(wait_ms, waits);
        end loop;
        if chosen is null then
          delete from intents i where i.org_id = n.org_id and i.id = n.id;
          verdict := 'interval';
          return next;
          continue;
        end if;
        update intents i set reserved_opener_id = chosen where i.org_id = n.org_id and i.id = n.id;
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
          select g.id from policy_approvals g where g.org_id = n.org_id and g.fingerprint = decode(n.approval, 'hex')
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
