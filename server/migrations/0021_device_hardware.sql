-- Which piece of hardware a device is, where its provider knows it world-wide (`hardware` of the manifest): its maker and
-- the id it has there. Devices of several integrations and organizations may be the same one.
alter table devices add column hardware_id text;

select set_config('lintel.org', '*', true);
update devices d set hardware_id = 'palgate:' || split_part(d.external_id, ':', 1)
from integrations i
where i.org_id = d.org_id and i.id = d.integration_id and i.provider_type = 'palgate_cloud';

update devices d set hardware_id = 'shelly:' || coalesce(
    translate(substring(named.name from
      '(?:^|[-_])((?:[0-9a-f]{2}[:.-]?){5}[0-9a-f]{2})(?:[-:_.][0-9]{1,2})?$'), ':.-', ''),
    named.name)
from (
  select d.org_id, d.id, lower(case i.provider_type
      when 'shelly_cloud' then d.external_id
      else d.device_metadata ->> 'shelly.device_id' end) as name
  from devices d join integrations i on i.org_id = d.org_id and i.id = d.integration_id
  where i.provider_type in ('shelly_cloud', 'shelly_websocket')
) named
where named.org_id = d.org_id and named.id = d.id;

create index devices_hardware on devices (hardware_id, org_id) where hardware_id is not null;

-- What keeps a device closed (its policies, a hold of it as a whole) follows its hardware, here and below: when the
-- device becomes another one, so does what that binds.
create function bump_epochs_of_hardware() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
begin
  if exists (select from policies p where p.org_id = new.org_id and p.device_id = new.id)
    or exists (select from door_holds h where h.org_id = new.org_id and h.device_id = new.id and h.entity_id is null
      and h.mode = 'hold_closed')
  then
    perform set_config('lintel.org', '*', true);
    perform bump_epochs(subtree_of(array[new.org_id]));
    update policy_versions v set version = v.version + 1 where v.org_id = new.org_id;
    perform set_config('lintel.org', coalesce(scope, ''), true);
  end if;
  return null;
end $$;
grant execute on function bump_epochs_of_hardware() to lintel_app;

create trigger bump_epoch_hardware after update of hardware_id on devices
  for each row when (old.hardware_id is distinct from new.hardware_id) execute function bump_epochs_of_hardware();

-- Whether or not its hardware is known: when a hold goes with its device, that can not be asked any more.
create function bump_epochs_below_hold() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
begin
  perform set_config('lintel.org', '*', true);
  perform bump_epochs(subtree_of(array[case tg_op when 'DELETE' then old.org_id else new.org_id end]));
  perform set_config('lintel.org', coalesce(scope, ''), true);
  return null;
end $$;
grant execute on function bump_epochs_below_hold() to lintel_app;

create trigger bump_epoch_below_insert after insert on door_holds
  for each row when (new.entity_id is null and new.mode = 'hold_closed') execute function bump_epochs_below_hold();
create trigger bump_epoch_below_update after update on door_holds
  for each row when ((old.entity_id is null and old.mode = 'hold_closed')
    or (new.entity_id is null and new.mode = 'hold_closed')) execute function bump_epochs_below_hold();
create trigger bump_epoch_below_delete after delete on door_holds
  for each row when (old.entity_id is null and old.mode = 'hold_closed') execute function bump_epochs_below_hold();
