import { AppError } from '../kernel/app-error.ts';
import { isUniqueViolation } from './database.ts';

const indexes = ['zones_external_id', 'devices_external_id', 'entities_external_id'] as const;

/** An id of the far side names one live record of its integration or device; the index decides between two writers. */
export async function refuseTakenExternalId<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!indexes.some((index) => isUniqueViolation(error, index))) throw error;
    throw new AppError('already_exists', 'another record here has this external_id');
  }
}
