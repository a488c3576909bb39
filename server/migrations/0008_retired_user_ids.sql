-- Callers may choose the id of a new user. One that was purged must never come back: audit events name it.
create table retired_user_ids (
  id text primary key,
  retired_at timestamptz not null default now()
);
grant select, insert on retired_user_ids to lintel_app;
