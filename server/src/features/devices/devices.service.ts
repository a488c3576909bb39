import type { Database } from '../../db/database.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import { type Device, type DeviceFilters, type DevicePage, listDevices } from './devices.store.ts';

export interface DevicesService {
  list(
    call: Call,
    org: OrgScope,
    filters: Omit<DeviceFilters, 'limitedTo'>,
    page: DevicePage,
  ): Promise<{ items: Device[]; total: number }>;
}

export function createDevicesService({ db }: { db: Database }): DevicesService {
  return {
    list: (call, org, filters, page) => {
      const limitedTo = entityLimit(principalOf(call));
      return db.inOrg(org.id, (tx) => listDevices(tx, org.id, { ...filters, limitedTo }, page));
    },
  };
}
