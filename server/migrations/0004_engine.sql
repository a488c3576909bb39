create table intents (
  org_id text not null,
  id text not null,
  entity_id text not null,
  device_id text not null,
  integration_id text not null,
  action_id text not null,
  principal_kind text not null,
  principal_id text not null,
  actor jsonb not null,
  source text not null,
  details jsonb not null default '{}',
  correlation_id text not null,
  idempotency_key text,
  fingerprint bytea not null,
  state text not null default 'dispatching'
    check (state in ('dispatching', 'succeeded', 'refused', 'not_sent', 'unknown')),
  not_after timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  result jsonb,
  primary key (org_id, id)
);
create unique index intents_idempotency on intents (org_id, principal_id, idempotency_key)
  where idempotency_key is not null;
-- By key, not by time: finishing an intent must find it here as directly as by its primary key.
create index intents_dispatching on intents (org_id, id) where state = 'dispatching';

-- Counters are striped: one hot organization must not queue on one row.
create table usage_counters (
  org_id text not null references orgs (id) on delete cascade,
  key text not null,
  period text not null,
  stripe int not null,
  count bigint not null default 0,
  primary key (org_id, key, period, stripe)
) with (fillfactor = 50);

create table dispatch_intervals (
  org_id text not null,
  integration_id text not null,
  last_dispatch_at timestamptz not null,
  primary key (org_id, integration_id),
  foreign key (org_id, integration_id) references integrations (org_id, id) on delete cascade
);

-- Step-up proofs: single use, bound to principal, entity, action and exact payload by the fingerprint.
create table confirmations (
  org_id text not null references orgs (id) on delete cascade,
  token_hash bytea not null,
  fingerprint bytea not null,
  expires_at timestamptz not null,
  primary key (org_id, token_hash)
);
