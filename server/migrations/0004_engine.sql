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
-- Every row is updated once, soon after it was written: half a page is left so that it stays there (a heap-only update
-- touches no index). For the same reason no index may depend on the state: recovery finds orphans by their age.
) with (fillfactor = 50);
create unique index intents_idempotency on intents (org_id, principal_id, idempotency_key)
  where idempotency_key is not null;
create index intents_created on intents using brin (created_at) with (pages_per_range = 16, autosummarize = on);

-- Counters are kept per UTC day and striped: one hot organization must not queue on one row. A month is the sum of its
-- days.
create table usage_counters (
  org_id text not null references orgs (id) on delete cascade,
  key text not null,
  day date not null,
  stripe int not null,
  count bigint not null default 0,
  primary key (org_id, key, day, stripe)
) with (fillfactor = 50);

create table dispatch_intervals (
  org_id text not null,
  integration_id text not null,
  last_dispatch_at timestamptz not null,
  primary key (org_id, integration_id),
  foreign key (org_id, integration_id) references integrations (org_id, id) on delete cascade
);

-- Doors that the service itself must close, because their device can not. Written with the intent to open, so that no
-- crash can leave a door open; gone when a close was delivered.
create table close_jobs (
  org_id text not null references orgs (id) on delete cascade,
  entity_id text not null,
  due_at timestamptz not null,
  attempts int not null default 0,
  primary key (org_id, entity_id)
);
create index close_jobs_due on close_jobs (due_at);

-- Step-up proofs: single use, bound to principal, entity, action and exact payload by the fingerprint.
create table confirmations (
  org_id text not null references orgs (id) on delete cascade,
  token_hash bytea not null,
  fingerprint bytea not null,
  expires_at timestamptz not null,
  primary key (org_id, token_hash)
);
