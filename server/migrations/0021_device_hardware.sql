-- Which piece of hardware a device is, where its provider knows it world-wide (`hardware` of the manifest): its maker and
-- the id it has there. Devices of several integrations and organizations may be the same one.
alter table devices add column hardware_id text;

select set_config('lintel.org', '*', true);
update devices d set hardware_id = case i.provider_type
    when 'palgate_cloud' then 'palgate:' || split_part(d.external_id, ':', 1)
    when 'shelly_cloud' then 'shelly:' || coalesce(lower(substring(d.external_id from '(?:^|-)([0-9A-Fa-f]{12})$')), d.external_id)
    when 'shelly_websocket' then 'shelly:' || coalesce(
      lower(substring(d.device_metadata ->> 'shelly.device_id' from '(?:^|-)([0-9A-Fa-f]{12})$')),
      d.device_metadata ->> 'shelly.device_id')
  end
from integrations i
where i.org_id = d.org_id and i.id = d.integration_id
  and i.provider_type in ('palgate_cloud', 'shelly_cloud', 'shelly_websocket');

create index devices_hardware on devices (hardware_id, org_id) where hardware_id is not null;

-- A policy of a device follows its hardware, here and below: when the device becomes another one, so does what it binds.
create function bump_epochs_of_hardware() returns trigger
language plpgsql as $$
declare
  scope text := current_setting('lintel.org', true);
begin
  if exists (select from policies p where p.org_id = new.org_id and p.device_id = new.id) then
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
