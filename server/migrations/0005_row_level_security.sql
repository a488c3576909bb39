-- Every table with an org_id is a tenant table: forced row-level security, one policy. A test over the catalog keeps it so.
do $$
declare
  t record;
begin
  for t in
    select c.oid::regclass as tbl from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id' and not a.attisdropped
    where n.nspname = 'public' and c.relkind in ('r', 'p')
  loop
    execute format('alter table %s enable row level security', t.tbl);
    execute format('alter table %s force row level security', t.tbl);
    execute format('create policy tenant on %s using (visible_org(org_id)) with check (visible_org(org_id))', t.tbl);
  end loop;
end $$;

-- Events are read for a whole tree of organizations, many rows at a time: here the list of ids becomes a hash once per
-- statement instead of being parsed for every row.
alter policy tenant on audit_events using (
  (select current_setting('lintel.org', true)) = '*'
  or org_id in (select unnest(string_to_array(current_setting('lintel.org', true), ',')))
);

alter table orgs enable row level security;
alter table orgs force row level security;
create policy tenant on orgs using (visible_org(id)) with check (visible_org(id));

grant select, insert, update, delete on all tables in schema public to lintel_app;
revoke update, delete on audit_events from lintel_app;
revoke all on audit_events_default from lintel_app;
revoke update, delete on installation from lintel_app;
revoke insert, update, delete on schema_migrations from lintel_app;
grant execute on all functions in schema public to lintel_app;
grant usage on schema identity to lintel_app;
grant select, insert, update, delete on all tables in schema identity to lintel_app;
