-- Typed policies. They only narrow; org rows hold in the whole subtree, the others for one integration or one device.
-- Kinds and the shapes of their config are closed in server/src/policy/policy-kinds.ts.
create table policies (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  scope text not null check (scope in ('org', 'integration', 'device')),
  integration_id text,
  device_id text,
  policy_type text not null,
  -- Which capability of an entity it is about (`switchable`); null is all of them.
  capability text,
  config jsonb not null default '{}',
  enforcement text not null default 'enforce' check (enforcement in ('enforce', 'require_approval', 'audit_only')),
  enabled boolean not null default true,
  created_by text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, id),
  unique (id),
  check ((scope = 'org') = (integration_id is null)),
  check ((scope = 'device') = (device_id is not null)),
  foreign key (org_id, integration_id) references integrations (org_id, id) on delete cascade,
  foreign key (org_id, device_id) references devices (org_id, id) on delete cascade
);
create index policies_integration on policies (org_id, integration_id) where integration_id is not null;
create index policies_device on policies (org_id, device_id) where device_id is not null;

-- Grows with each change of an organization's own policies: most new epochs come from other changes, and then nobody
-- reads thousands of rows again.
create table policy_versions (
  org_id text primary key references orgs (id) on delete cascade,
  version bigint not null
);

create function bump_policy_versions() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
  changed text[];
begin
  if tg_op = 'DELETE' then
    select array_agg(distinct org_id) into changed from old_rows;
  else
    select array_agg(distinct org_id) into changed from new_rows;
  end if;
  if changed is not null then
    perform set_config('lintel.org', '*', true);
    -- An organization that is just being purged takes its policies along, and has no version any more.
    insert into policy_versions as v (org_id, version)
    select o.id, 1 from orgs o where o.id = any (changed) order by o.id
    on conflict (org_id) do update set version = v.version + 1;
    perform set_config('lintel.org', coalesce(scope, ''), true);
  end if;
  return null;
end $$;

-- An ancestor's policy holds below, so a change of it is a new epoch for the whole subtree.
do $$
declare
  op text;
  seen text;
begin
  foreach op in array array['insert', 'update', 'delete'] loop
    seen := case op when 'delete' then 'old table as old_rows' else 'new table as new_rows' end;
    execute format('create trigger bump_epoch_%s after %s on policies referencing %s
      for each statement execute function bump_epoch_of_changed_rows(%L)', op, op, seen, 'subtree');
    execute format('create trigger bump_version_%s after %s on policies referencing %s
      for each statement execute function bump_policy_versions()', op, op, seen);
  end loop;
end $$;

-- Who may set the policies of a device. Free until somebody claims it.
create table device_stewards (
  org_id text not null,
  device_id text not null,
  user_id text not null references users (id) on delete cascade,
  claimed_at timestamptz not null default now(),
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references devices (org_id, id) on delete cascade
);
create index device_stewards_user on device_stewards (user_id);

-- A request for the consent of other people. For an entity action the fingerprint binds it to organization, principal,
-- entity, action and exact payload, as a step-up proof is bound.
create table policy_approvals (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  -- The policy, or the agent whose confirmation mode is `human`.
  policy_id text not null,
  policy_type text not null,
  requester_kind text not null,
  requester_id text not null,
  -- The human behind the requester: the user, the creator of the key, the owner of the agent.
  requester_user_id text not null,
  subject_kind text not null,
  subject_ref text not null,
  subject_label text,
  note text,
  fingerprint bytea,
  required_count int not null default 1 check (required_count >= 1),
  status text not null default 'pending' check (status in ('pending', 'approved', 'denied', 'expired', 'used')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  decided_at timestamptz,
  primary key (org_id, id),
  unique (id)
);
-- One open request for one thing, however often it is asked for.
create unique index policy_approvals_pending on policy_approvals (org_id, fingerprint)
  where status = 'pending' and fingerprint is not null;
create index policy_approvals_status on policy_approvals (org_id, status, created_at);
create index policy_approvals_expiry on policy_approvals (expires_at) where status in ('pending', 'approved');

create table policy_approval_votes (
  org_id text not null,
  approval_id text not null,
  voter_user_id text not null,
  vote text not null check (vote in ('approve', 'deny')),
  created_at timestamptz not null default now(),
  primary key (org_id, approval_id, voter_user_id),
  foreign key (org_id, approval_id) references policy_approvals (org_id, id) on delete cascade
);

do $$
declare
  tbl text;
begin
  foreach tbl in array array['policies', 'policy_versions', 'device_stewards', 'policy_approvals', 'policy_approval_votes'] loop
    execute format('alter table %I enable row level security', tbl);
    execute format('alter table %I force row level security', tbl);
    execute format('create policy tenant on %I using (visible_org(org_id)) with check (visible_org(org_id))', tbl);
    execute format('grant select, insert, update, delete on %I to lintel_app', tbl);
  end loop;
end $$;
grant execute on function bump_policy_versions() to lintel_app;
