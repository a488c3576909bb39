-- One round trip from a presented secret to everything a decision about its bearer needs. Nothing is cached between
-- a revocation and this look-up, so a revoked key is refused by the next request on every node.
create function authenticate_key(p_hash bytea) returns table (
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
    a.id, a.allowed_entity_ids, a.confirmation_mode,
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
