-- Secrets of integrations: a schema and a role of their own. lintel_app has no right here at all; whoever reads or
-- changes a secret takes the role lintel_secrets first (see docs/decisions/0008-secrets.md).
do $$
begin
  if not exists (select from pg_roles where rolname = 'lintel_secrets') then
    begin
      create role lintel_secrets nologin;
    exception when duplicate_object or unique_violation then
      null; -- another database of this cluster is migrating at the same moment
    end;
  end if;
end $$;
do $$
begin
  execute format('grant lintel_secrets to %I', current_user);
exception when insufficient_privilege then
  if not pg_has_role(current_user, 'lintel_secrets', 'member') then raise; end if;
end $$;

create schema secrets;
revoke all on schema secrets from public;
grant usage on schema secrets to lintel_secrets;
grant usage on schema public to lintel_secrets;
grant execute on function visible_org(text) to lintel_secrets;

-- Every key encryption key that was ever in use here, by its fingerprint: a node with none of them is noticed.
create table secrets.key_encryption_keys (
  kid text primary key,
  added_at timestamptz not null default now()
);

-- One active key for each organization; the others are left over from a rotation that is still under way. Gone with
-- the organization, and with it whatever of its values stands in old backups.
create table secrets.data_keys (
  org_id text not null references public.orgs (id) on delete cascade,
  id text not null,
  kid text not null references secrets.key_encryption_keys (kid),
  wrapped bytea not null,
  state text not null default 'active' check (state in ('active', 'retiring')),
  -- Nonces are random, so that a key is good for a limited number of them.
  encryptions bigint not null default 0,
  created_at timestamptz not null default now(),
  primary key (org_id, id)
);
create unique index data_keys_active on secrets.data_keys (org_id) where state = 'active';
create index data_keys_kid on secrets.data_keys (kid);

-- INVARIANT: the version grows with every change and never comes back, also after the values were cleared: each
-- ciphertext is bound to it.
create table secrets.integration_secrets (
  org_id text not null,
  integration_id text not null,
  version bigint not null,
  updated_at timestamptz not null default now(),
  primary key (org_id, integration_id),
  -- Without cascade: an integration can not go while its secrets are still there.
  foreign key (org_id, integration_id) references public.integrations (org_id, id)
);

create table secrets.secret_values (
  org_id text not null,
  integration_id text not null,
  field text not null,
  data_key_id text not null,
  ciphertext bytea not null,
  primary key (org_id, integration_id, field),
  foreign key (org_id, integration_id) references secrets.integration_secrets (org_id, integration_id),
  foreign key (org_id, data_key_id) references secrets.data_keys (org_id, id)
);
create index secret_values_data_key on secrets.secret_values (org_id, data_key_id);

do $$
declare
  tbl text;
begin
  foreach tbl in array array['data_keys', 'integration_secrets', 'secret_values'] loop
    execute format('alter table secrets.%I enable row level security', tbl);
    execute format('alter table secrets.%I force row level security', tbl);
    execute format('create policy tenant on secrets.%I using (visible_org(org_id)) with check (visible_org(org_id))', tbl);
    execute format('grant select, insert, update, delete on secrets.%I to lintel_secrets', tbl);
  end loop;
end $$;
grant select, insert on secrets.key_encryption_keys to lintel_secrets;
