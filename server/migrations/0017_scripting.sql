-- How many scripts an organization runs at once, over all nodes. The slot of a node that died is free when its time is over.
create table script_slots (
  org_id text not null references orgs (id) on delete cascade,
  slot int not null,
  run_id text not null,
  expires_at timestamptz not null,
  primary key (org_id, slot)
);

alter table script_slots enable row level security;
alter table script_slots force row level security;
create policy tenant on script_slots using (visible_org(org_id)) with check (visible_org(org_id));
grant select, insert, update, delete on script_slots to lintel_app;
