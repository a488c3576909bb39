import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { UploadSpec } from '@lintel/contract/operation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, invalid } from '../kernel/app-error.ts';

/** What a form adds to its file: boundaries and part headers. */
const framingBytes = 65_536;

/** Routes of this scope get their body unread: who may upload at all is decided before the first byte is kept. */
export function leaveBodiesUnread(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

/** The one file of the form, in the field `file`. */
export async function readUpload(request: FastifyRequest, upload: UploadSpec): Promise<Buffer> {
  const type = request.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type))
    throw new AppError('unsupported_media_type', 'send multipart/form-data');
  const form = await readAll(request, upload.maxBytes + framingBytes);
  const file = await parseForm(type, form, upload);
  if (file === null) throw invalid('/file', 'is required, as a file');
  return file;
}

async function readAll(request: FastifyRequest, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let total = 0;
  // Not destroyed when we stop early: the refusal is still to be sent on the same connection.
  for await (const chunk of request.raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, total);
}

const tooLarge = () => new AppError('payload_too_large', 'the file is too large');

function parseForm(type: string, form: Buffer, upload: UploadSpec): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const parser = createParser(type, upload);
    const chunks: Buffer[] = [];
    let found = false;
    parser.on('file', (field, file, _name, _encoding, mediaType) => {
      const problem = partProblem(field, mediaType, upload);
      if (problem !== null) reject(problem);
      found = true;
      file.on('data', (chunk: Buffer) => chunks.push(chunk));
      file.on('limit', () => reject(tooLarge()));
      file.on('error', () => reject(brokenForm()));
    });
    const refuseMore = () => reject(invalid('/file', 'must be all that is in the form'));
    parser.on('field', refuseMore).on('fieldsLimit', refuseMore);
    parser.on('filesLimit', refuseMore).on('partsLimit', refuseMore);
    parser.on('error', () => reject(brokenForm()));
    parser.on('finish', () => resolve(found ? Buffer.concat(chunks) : null));
    parser.end(form);
  });
}

const brokenForm = () => invalid('/', 'the form is broken');

function createParser(type: string, { maxBytes }: UploadSpec): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': type },
      limits: { fileSize: maxBytes, files: 1, fields: 1, fieldSize: 1, parts: 2, headerPairs: 16 },
    });
  } catch {
    throw brokenForm();
  }
}

/** A declared type is refused when it is none of ours; whether it is true, the bytes say later. */
function partProblem(field: string, mediaType: string, { mediaTypes }: UploadSpec): AppError | null {
  if (field !== 'file') return invalid('/file', 'must be all that is in the form');
  const isTaken = mediaType === 'application/octet-stream' || mediaTypes.includes(mediaType.toLowerCase());
  return isTaken ? null : new AppError('unsupported_media_type', `send one of ${mediaTypes.join(', ')}`);
}
