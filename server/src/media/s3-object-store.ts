import { S3mini, S3NetworkError, S3ServiceError } from 's3mini';
import type { Secret } from '../kernel/secret.ts';
import { probe } from './object-probe.ts';
import { type ObjectStore, ObjectStoreError, requireKey } from './object-store.ts';

export interface S3Settings {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
}

const timeoutMs = 10_000;

/** Any S3 API, addressed by path. A PUT of S3 is whole or not at all, so there is nothing to rename. */
export function createS3ObjectStore(settings: S3Settings): ObjectStore {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = settings;
  const s3 = new S3mini({
    endpoint: `${endpoint}/${bucket}`,
    region,
    accessKeyId,
    secretAccessKey: secretAccessKey.reveal(),
    requestAbortTimeout: timeoutMs,
  });
  const store: Omit<ObjectStore, 'check'> = {
    put: (key, bytes) =>
      told(async () => {
        await s3.putObject(requireKey(key), bytes, 'image/webp');
      }),
    get: (key) =>
      told(async () => {
        const found = await s3.getObjectArrayBuffer(requireKey(key));
        return found === null ? null : new Uint8Array(found);
      }),
    delete: (key) =>
      told(async () => {
        await s3.deleteObject(requireKey(key)).catch(unlessAbsent);
      }),
  };
  return { ...store, check: () => probe(store) };
}

function unlessAbsent(error: unknown): void {
  if (!(error instanceof S3ServiceError) || error.serviceCode !== 'NoSuchKey') throw error;
}

/** The errors of the client carry the whole answer, and that can hold what was signed: none of it goes further. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof S3ServiceError) throw serviceError(error);
    if (error instanceof S3NetworkError) throw new ObjectStoreError(`no answer (${error.code})`, false);
    if (error instanceof Error && error.name === 'TimeoutError')
      throw new ObjectStoreError('no answer in time', false);
    if (error instanceof TypeError && error.cause instanceof Error)
      throw new ObjectStoreError(`the connection broke${codeOf(error.cause)}`, false);
    throw error;
  }
}

/** RequestTimeTooSkewed and the like are 403 as well: nothing of that kind mends itself. */
function serviceError({ status, serviceCode }: S3ServiceError): ObjectStoreError {
  const name = /^\w{1,64}$/.test(serviceCode ?? '') ? ` ${serviceCode}` : '';
  return new ObjectStoreError(
    `it answered ${status}${name}`,
    status >= 400 && status < 500 && status !== 429,
  );
}

const codeOf = (cause: Error): string => ('code' in cause ? ` (${String(cause.code)})` : '');
