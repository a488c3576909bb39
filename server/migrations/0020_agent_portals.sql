-- What an agent may act on: the entities it is allowed, and those that its portals have by now. A portal is a device of
-- a site. New entities of it, and a change of either list, make a new epoch, as every row that is read here does.
create function agent_reach(p_org text, p_entities text[], p_portals text[]) returns text[]
language sql stable as $$
  select case
    when cardinality(p_portals) > 0 then array(
      select unnest(p_entities)
      union
      select e.id from entities e
      where e.org_id = p_org and e.device_id = any (p_portals) and e.deleted_at is null
      order by 1)
    else p_entities
  end
$$;
grant execute on function agent_reach(text, text[], text[]) to lintel_app;

create or replace function authenticate_key(p_hash bytea) returns table (
  org_id text, org_path text[], org_epoch bigint, org_timezone text, org_default_locale text,
  key_id text, user_id text, expires_at timestamptz, scoped_roles text[], scoped_entity_ids text[],
  creator_roles text[], agent_id text, agent_allowed_entity_ids text[], agent_confirmation_mode text,
  rejected text
)
language plpgsql as $$
begin
  perform set_config('lintel.org', '*', true);
  return query
  select o.id, o.path, e.epoch, o.timezone, o.default_locale,
    k.id, u.id, least(k.expires_at, a.expires_at), k.scoped_roles, k.scoped_entity_ids,
    coalesce((
      select array_agg(distinct g.role) from role_grants g
      where g.user_id = u.id and (g.org_id = o.id or (g.role = 'admin' and g.org_id = any (o.path)))
    ), '{}'),
    a.id, agent_reach(a.org_id, a.allowed_entity_ids, a.allowed_portal_ids), a.confirmation_mode,
    case
      when k.revoked_at is not null then 'revoked'
      when k.expires_at <= now() then 'expired'
      when u.deleted_at is not null then 'creator_deleted'
      when o.deleted_at is not null then 'org_deleted'
      when a.revoked_at is not null then 'agent_revoked'
      when a.expires_at <= now() then 'agent_expired'
    end
  from api_keys k
  join orgs o on o.id = k.org_id
  join org_epochs e on e.org_id = o.id
  left join agents a on a.org_id = k.org_id and a.id = k.agent_id
  join users u on u.id = coalesce(a.owner_user_id, k.created_by_user_id)
  where k.secret_hash = p_hash;
end $$;
