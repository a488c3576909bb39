-- Roles. The migrating role owns everything; the service works as lintel_app, which owns nothing, so that row-level
-- security (forced below on every tenant table) holds for it.
do $$
begin
  if not exists (select from pg_roles where rolname = 'lintel_app') then
    begin
      create role lintel_app nologin;
    exception when duplicate_object or unique_violation then
      null; -- another database of this cluster is migrating at the same moment
    end;
  end if;
end $$;
do $$
begin
  execute format('grant lintel_app to %I', current_user);
exception when insufficient_privilege then
  -- Where an administrator made the role beforehand, they also made us a member, and we may not do it again.
  if not pg_has_role(current_user, 'lintel_app', 'member') then raise; end if;
end $$;
grant usage on schema public to lintel_app;

-- Which organizations the current transaction may see: ids separated by commas, or '*' for the service itself.
-- Nothing set means nothing seen.
create function visible_org(p_org text) returns boolean
language sql stable parallel safe as $$
  select current_setting('lintel.org', true) = '*'
      or p_org = any (string_to_array(current_setting('lintel.org', true), ','))
$$;

create table installation (
  singleton boolean primary key default true check (singleton),
  root_org_id text not null,
  -- Where the first key and the demo building are; null where that is the root.
  home_org_id text,
  pepper_check bytea not null,
  created_at timestamptz not null default now()
);

create table orgs (
  id text primary key,
  parent_id text references orgs (id),
  -- INVARIANT: ids from the root to this organization, itself included. Inheritance is one array test.
  path text[] not null,
  name jsonb not null,
  description text,
  is_personal boolean not null default false,
  timezone text,
  default_locale text not null default 'en',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index orgs_parent on orgs (parent_id);
create index orgs_path on orgs using gin (path);

-- Bumped by every change that can change a decision. Kept apart from orgs so that a bump rewrites a tiny row.
create table org_epochs (
  org_id text primary key references orgs (id) on delete cascade,
  epoch bigint not null default 1
);

create table users (
  id text primary key,
  email text not null,
  email_is_synthetic boolean not null default false,
  name jsonb not null,
  phone text,
  locale text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index users_email on users (email) where deleted_at is null;

create table user_identities (
  issuer text not null,
  subject text not null,
  user_id text not null references users (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (issuer, subject)
);
create index user_identities_user on user_identities (user_id);

create table role_grants (
  org_id text not null references orgs (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null,
  granted_by text,
  created_at timestamptz not null default now(),
  primary key (org_id, user_id, role)
);
create index role_grants_user on role_grants (user_id);

create table agents (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  owner_user_id text not null references users (id) on delete cascade,
  name text not null,
  purpose text,
  confirmation_mode text not null default 'policy' check (confirmation_mode in ('policy', 'always', 'human')),
  allowed_entity_ids text[],
  allowed_portal_ids text[],
  allowed_tool_names text[],
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, id),
  unique (id)
);

create table api_keys (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  name text not null,
  secret_hash bytea not null,
  token_suffix text not null,
  created_by_user_id text not null references users (id) on delete cascade,
  agent_id text,
  scoped_roles text[],
  scoped_entity_ids text[],
  expires_at timestamptz not null,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, id),
  unique (id),
  foreign key (org_id, agent_id) references agents (org_id, id) on delete cascade
);
create unique index api_keys_secret_hash on api_keys (secret_hash);
create index api_keys_agent on api_keys (org_id, agent_id) where agent_id is not null;
create index api_keys_creator on api_keys (created_by_user_id);

create table org_invitations (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  email text not null,
  default_roles text[] not null,
  token_hash bytea not null,
  pin_hash bytea not null,
  pin_failures int not null default 0,
  invited_by_user_id text not null,
  accepted_user_id text,
  sent_count int not null default 1,
  last_sent_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  redeemed_at timestamptz,
  cancelled_at timestamptz,
  primary key (org_id, id)
);
create unique index org_invitations_token on org_invitations (token_hash);

create table integrations (
  org_id text not null references orgs (id),
  id text not null,
  provider_type text not null,
  name jsonb not null,
  enabled boolean not null default true,
  config jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (org_id, id),
  unique (id)
);

create table zones (
  org_id text not null,
  id text not null,
  integration_id text not null,
  parent_zone_id text,
  name jsonb not null,
  external_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (org_id, id),
  unique (id),
  foreign key (org_id, integration_id) references integrations (org_id, id),
  foreign key (org_id, parent_zone_id) references zones (org_id, id)
);
create index zones_integration on zones (org_id, integration_id);
create index zones_parent on zones (org_id, parent_zone_id) where parent_zone_id is not null;
create unique index zones_external_id on zones (org_id, integration_id, external_id) where deleted_at is null;

create table devices (
  org_id text not null,
  id text not null,
  integration_id text not null,
  name jsonb not null,
  external_id text,
  device_metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (org_id, id),
  unique (id),
  foreign key (org_id, integration_id) references integrations (org_id, id)
);
create index devices_integration on devices (org_id, integration_id);
-- Among live records only: whoever replaces a deleted one gives it the same id of the far side.
create unique index devices_external_id on devices (org_id, integration_id, external_id) where deleted_at is null;

create table entities (
  org_id text not null,
  id text not null,
  device_id text not null,
  zone_id text,
  entity_type text not null check (entity_type in ('switch', 'light', 'sensor', 'door', 'directory_listing')),
  name text,
  external_id text,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (org_id, id),
  unique (id),
  foreign key (org_id, device_id) references devices (org_id, id),
  foreign key (org_id, zone_id) references zones (org_id, id)
);
create index entities_device on entities (org_id, device_id);
create index entities_zone on entities (org_id, zone_id) where zone_id is not null;
create unique index entities_external_id on entities (org_id, device_id, external_id) where deleted_at is null;

-- What was last observed, apart from entities: it changes with every open and must not bump the epoch.
create table entity_states (
  org_id text not null,
  entity_id text not null,
  status text not null check (status in ('open', 'closed', 'unknown')),
  source text not null,
  observed_at timestamptz not null,
  -- No foreign key: an outcome must be written even when its entity was purged while the command was under way.
  primary key (org_id, entity_id)
) with (fillfactor = 50);

create function bump_epochs(p_orgs text[]) returns void
language sql as $$
  -- Locked in one order, so that two bumps never deadlock.
  with targets as (
    select org_id from org_epochs where org_id = any (p_orgs) order by org_id for update
  )
  update org_epochs e set epoch = e.epoch + 1 from targets t where e.org_id = t.org_id
$$;

-- The organization and all below it: admin is inherited, so a grant above changes decisions below.
create function subtree_of(p_orgs text[]) returns text[]
language sql stable as $$
  select coalesce(array_agg(id), '{}') from orgs where path && p_orgs
$$;

create function bump_epoch_of_changed_rows() returns trigger
language plpgsql as $$
declare
  changed text[];
  scope text := current_setting('lintel.org', true);
begin
  if tg_op = 'DELETE' then
    select array_agg(distinct org_id) into changed from old_rows;
  else
    select array_agg(distinct org_id) into changed from new_rows;
  end if;
  if changed is not null then
    perform set_config('lintel.org', '*', true);
    perform bump_epochs(case when tg_argv[0] = 'subtree' then subtree_of(changed) else changed end);
    perform set_config('lintel.org', coalesce(scope, ''), true);
  end if;
  return null;
end $$;

create function bump_epochs_of_user() returns trigger
language plpgsql as $$
declare
  changed text[];
  scope text := current_setting('lintel.org', true);
begin
  perform set_config('lintel.org', '*', true);
  select array_agg(distinct org_id) into changed from (
    select org_id from role_grants where user_id = new.id
    union select org_id from api_keys where created_by_user_id = new.id
  ) touched;
  if changed is not null then perform bump_epochs(subtree_of(changed)); end if;
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;

create function bump_epochs_of_org() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
begin
  perform set_config('lintel.org', '*', true);
  if tg_op = 'INSERT' then
    insert into org_epochs (org_id) values (new.id);
  else
    perform bump_epochs(subtree_of(array[new.id]));
  end if;
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;

create trigger bump_epoch after insert on orgs for each row execute function bump_epochs_of_org();
create trigger bump_epoch_changed after update of parent_id, path, deleted_at, timezone on orgs
  for each row execute function bump_epochs_of_org();
create trigger bump_epoch after update of deleted_at on users for each row execute function bump_epochs_of_user();

do $$
declare
  spec record;
begin
  for spec in select * from (values
    ('role_grants', 'subtree'), ('agents', 'self'), ('api_keys', 'self'),
    ('integrations', 'self'), ('devices', 'self'), ('entities', 'self')
  ) as t(tbl, reach)
  loop
    execute format('create trigger bump_epoch_insert after insert on %I referencing new table as new_rows
      for each statement execute function bump_epoch_of_changed_rows(%L)', spec.tbl, spec.reach);
    execute format('create trigger bump_epoch_update after update on %I referencing new table as new_rows
      for each statement execute function bump_epoch_of_changed_rows(%L)', spec.tbl, spec.reach);
    execute format('create trigger bump_epoch_delete after delete on %I referencing old table as old_rows
      for each statement execute function bump_epoch_of_changed_rows(%L)', spec.tbl, spec.reach);
  end loop;
end $$;

-- Last use is written in batches and changes no decision, so it lives beside the keys and bumps nothing.
create table key_uses (
  org_id text not null,
  key_id text not null,
  last_used_at timestamptz not null,
  primary key (org_id, key_id),
  foreign key (org_id, key_id) references api_keys (org_id, id) on delete cascade
);
