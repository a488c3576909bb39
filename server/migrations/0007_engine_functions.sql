-- T1: everything that must hold at the moment a command is allowed, in one round trip and one transaction. What can
-- fail raises LN001 with the reason, so that every effect of this call is undone together: a refused interval burns
-- no proof, a bad proof reserves no interval, and neither leaves an intent.
create function open_intent(
  p_org text, p_epoch bigint, p_credential_expires_at timestamptz,
  p_id text, p_entity text, p_device text, p_integration text, p_action text,
  p_principal_kind text, p_principal text, p_actor jsonb, p_source text, p_details jsonb,
  p_correlation text, p_idempotency_key text, p_fingerprint bytea, p_confirmation bytea,
  p_deadline_ms int, p_min_interval_ms int, p_counters text[], p_stripe int, p_close_after_ms int,
  -- One row, not a set of them: a set would be gathered in a store of its own on every call.
  out verdict text, out existing_id text, out existing_state text, out existing_result jsonb, out same_request boolean
)
language plpgsql as $$
declare
  current_epoch bigint;
  wait_ms int;
begin
  perform set_config('lintel.org', p_org, true);
  select e.epoch into current_epoch from org_epochs e where e.org_id = p_org;
  if current_epoch is distinct from p_epoch then
    verdict := 'stale';
    return;
  end if;
  if p_credential_expires_at <= now() then
    verdict := 'expired';
    return;
  end if;

  insert into intents (org_id, id, entity_id, device_id, integration_id, action_id, principal_kind, principal_id, actor,
    source, details, correlation_id, idempotency_key, fingerprint, not_after)
  values (p_org, p_id, p_entity, p_device, p_integration, p_action, p_principal_kind, p_principal, p_actor,
    p_source, p_details, p_correlation, p_idempotency_key, p_fingerprint, now() + make_interval(secs => p_deadline_ms / 1000.0))
  on conflict (org_id, principal_id, idempotency_key) where idempotency_key is not null do nothing;
  if not found then
    select 'exists', i.id, i.state, i.result, i.fingerprint = p_fingerprint
    into verdict, existing_id, existing_state, existing_result, same_request from intents i
    where i.org_id = p_org and i.principal_id = p_principal and i.idempotency_key = p_idempotency_key;
    -- Its key was released in this instant: nothing was sent for it, so the request may start over.
    if not found then verdict := 'stale'; end if;
    return;
  end if;

  if p_confirmation is not null then
    delete from confirmations c
    where c.org_id = p_org and c.token_hash = p_confirmation and c.fingerprint = p_fingerprint and c.expires_at > now();
    if not found then
      raise exception 'confirmation_invalid' using errcode = 'LN001';
    end if;
  end if;

  if p_min_interval_ms > 0 then
    insert into dispatch_intervals as d (org_id, integration_id, last_dispatch_at) values (p_org, p_integration, now())
    on conflict (org_id, integration_id) do update set last_dispatch_at = now()
      where d.last_dispatch_at <= now() - make_interval(secs => p_min_interval_ms / 1000.0);
    if not found then
      select ceil(extract(epoch from (d.last_dispatch_at - now())) * 1000)::int + p_min_interval_ms into wait_ms
      from dispatch_intervals d where d.org_id = p_org and d.integration_id = p_integration;
      raise exception 'interval' using errcode = 'LN001', detail = greatest(wait_ms, 1)::text;
    end if;
  end if;

  if p_close_after_ms is not null then
    insert into close_jobs (org_id, entity_id, due_at)
    values (p_org, p_entity, now() + make_interval(secs => p_close_after_ms / 1000.0))
    on conflict (org_id, entity_id) do update set due_at = excluded.due_at, attempts = 0;
  end if;

  -- Counters last: their rows are shared, so they are held only for the commit. The array has one order.
  if p_counters <> '{}' then
    insert into usage_counters as u (org_id, key, day, stripe, count)
    select p_org, key, (now() at time zone 'UTC')::date, p_stripe, 1 from unnest(p_counters) as counted (key)
    on conflict (org_id, key, day, stripe) do update set count = u.count + 1;
  end if;
  verdict := 'opened';
end $$;

-- T2, for many intents at once. Only an intent that is still dispatching is finished, and only then is its event
-- written: whoever comes second (a late answer after recovery, a repeated call after a lost acknowledgement) changes
-- nothing and reads the state that stands.
create function finish_intents(p_rows jsonb) returns table (out_id text, out_state text)
language plpgsql as $$
declare
  n record;
  i intents;
begin
  perform set_config('lintel.org', '*', true);
  -- Row by row, each by its key: the plan of one joined statement would be kept from the day the tables were empty.
  -- In one order, so that two batches (ours and recovery's) never wait for each other in a circle.
  for n in
    select * from jsonb_to_recordset(p_rows) as r (
      org_id text, id text, state text, result jsonb, release_key boolean, event_id text, outcome text, details jsonb,
      status text, status_source text) order by r.org_id, r.id
  loop
    update intents t set state = n.state, result = n.result, finished_at = clock_timestamp(),
      idempotency_key = case when n.release_key then null else t.idempotency_key end
    where t.org_id = n.org_id and t.id = n.id and t.state = 'dispatching'
    returning * into i;
    out_id := n.id;
    if not found then
      select t.state into out_state from intents t where t.org_id = n.org_id and t.id = n.id;
      return next;
      continue;
    end if;
    out_state := i.state;
    return next;
    insert into audit_events (org_id, id, event_type, outcome, source, actor_kind, actor_user_id, actor_agent_id,
      actor_api_key_id, actor_guest_id, resource_type, resource_id, correlation_id, details)
    values (i.org_id, n.event_id, 'entity.action', n.outcome, i.source, i.actor ->> 'kind', i.actor ->> 'userId',
      i.actor ->> 'agentId', i.actor ->> 'apiKeyId', i.actor ->> 'guestId', 'entity', i.entity_id, i.correlation_id,
      i.details || n.details || jsonb_build_object('attempt_id', i.id));
    if n.state = 'succeeded' and i.details ->> 'command' = 'close' then
      delete from close_jobs j where j.org_id = i.org_id and j.entity_id = i.entity_id;
    end if;
    if n.status is not null then
      insert into entity_states (org_id, entity_id, status, source, observed_at)
      values (i.org_id, i.entity_id, n.status, n.status_source, clock_timestamp())
      on conflict (org_id, entity_id) do update
        set status = excluded.status, source = excluded.source, observed_at = excluded.observed_at;
    end if;
  end loop;
end $$;
