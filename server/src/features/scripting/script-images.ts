import { type OperationId, operationById } from '@lintel/contract/operations';
import type { Egress } from '../../egress/egress.ts';
import { AppError } from '../../kernel/app-error.ts';

/** By the one way out, which reaches nothing inside the operator's own network. */
export async function fetchImage(egress: Egress, url: string, operation: OperationId): Promise<Uint8Array> {
  const { upload } = operationById(operation);
  const answer = await egress.fetchBounded(url, {
    accept: upload?.mediaTypes ?? [],
    maxBytes: upload?.maxBytes ?? 0,
  });
  if (answer.kind !== 'response')
    throw new AppError('validation_error', `the image can not be fetched: ${answer.reason}`);
  if (answer.status !== 200)
    throw new AppError('validation_error', `the image can not be fetched: status ${answer.status}`);
  return new Uint8Array(answer.body);
}

export async function requireFetchable(egress: Egress, url: string): Promise<void> {
  const problem = await egress.problemOf(url);
  if (problem !== null) throw new AppError('validation_error', `the image can not be fetched: ${problem}`);
}
