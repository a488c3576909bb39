-- Any number of nodes on one database. All times here are the database's: the clocks of nodes are never compared.

-- No tenant table: nodes serve every organization. A node that ends in order removes its row.
create table nodes (
  id text primary key,
  -- Where the other nodes reach it.
  address text not null,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now()
) with (fillfactor = 50);
grant select, insert, update, delete on nodes to lintel_app;

-- Who holds the live connection of an integration.
-- INVARIANT: the epoch grows with every change of the owner and never comes back: it is the fencing token that goes
-- with every command. So a free lease keeps its row.
create table connection_leases (
  org_id text not null,
  integration_id text not null,
  -- Null: nobody's.
  node_id text,
  epoch bigint not null default 1,
  expires_at timestamptz not null,
  -- As the owner sees the connection, for the nodes that do not have it.
  health text not null default 'reduced' check (health in ('ok', 'reduced', 'error')),
  primary key (org_id, integration_id),
  foreign key (org_id, integration_id) references integrations (org_id, id) on delete cascade
-- Renewed every few seconds: no index may depend on what changes, so that it stays on its page.
) with (fillfactor = 50);

alter table connection_leases enable row level security;
alter table connection_leases force row level security;
create policy tenant on connection_leases using (visible_org(org_id)) with check (visible_org(org_id));
grant select, insert, update, delete on connection_leases to lintel_app;
