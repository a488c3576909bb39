-- Callers may choose the id of a new organization. One that was used before must never come back: audit events outlive
-- their organization, and whoever got its id would read them.
create table retired_org_ids (
  id text primary key,
  retired_at timestamptz not null default now()
);
grant select, insert on retired_org_ids to lintel_app;
