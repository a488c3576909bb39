-- One image of each record. The pixels are objects outside the database, named by organization and id; a row here is
-- what makes them reachable, and it goes with its record.
create table images (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  kind text not null check (kind in ('device', 'entity', 'integration', 'user', 'org')),
  resource_id text not null,
  device_id text generated always as (case when kind = 'device' then resource_id end) stored,
  entity_id text generated always as (case when kind = 'entity' then resource_id end) stored,
  integration_id text generated always as (case when kind = 'integration' then resource_id end) stored,
  -- People are of no single organization; their images are the root organization's.
  user_id text generated always as (case when kind = 'user' then resource_id end) stored
    references users (id) on delete cascade,
  width int not null,
  height int not null,
  created_at timestamptz not null default now(),
  primary key (org_id, kind, resource_id),
  unique (id),
  check (kind <> 'org' or resource_id = org_id),
  foreign key (org_id, device_id) references devices (org_id, id) on delete cascade,
  foreign key (org_id, entity_id) references entities (org_id, id) on delete cascade,
  foreign key (org_id, integration_id) references integrations (org_id, id) on delete cascade
);
create index images_device on images (org_id, device_id) where device_id is not null;
create index images_entity on images (org_id, entity_id) where entity_id is not null;
create index images_integration on images (org_id, integration_id) where integration_id is not null;
create index images_user on images (user_id) where user_id is not null;

alter table images enable row level security;
alter table images force row level security;
create policy tenant on images using (visible_org(org_id)) with check (visible_org(org_id));
grant select, insert, update, delete on images to lintel_app;

-- Objects to delete. No tenant table: it outlives the organizations, and nobody reads it but the collector.
create table unused_objects (
  owner_org_id text not null,
  image_id text primary key,
  due_at timestamptz not null
);
create index unused_objects_due on unused_objects (due_at);
grant select, insert, update, delete on unused_objects to lintel_app;

-- However a row goes (replaced, deleted, with its record, with its organization), its objects are noted.
create function note_unused_objects() returns trigger
language plpgsql as $$
begin
  if tg_op = 'DELETE' or new.id <> old.id then
    insert into unused_objects (owner_org_id, image_id, due_at) values (old.org_id, old.id, now());
  end if;
  return null;
end $$;
create trigger note_unused_objects after update or delete on images
  for each row execute function note_unused_objects();
