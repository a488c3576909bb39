// Forms with a file, as browsers and curl send them.

export interface UploadForm {
  readonly headers: { readonly 'content-type': string };
  readonly payload: Buffer;
}

export interface FormPart {
  readonly field?: string;
  readonly type?: string;
  /** Null makes it a plain field instead of a file. */
  readonly filename?: string | null;
}

const boundary = 'form-boundary-of-the-tests';

export function formWith(bytes: Uint8Array, part: FormPart = {}): UploadForm {
  return formOf([{ bytes, ...part }]);
}

export function formOf(parts: readonly (FormPart & { readonly bytes: Uint8Array })[]): UploadForm {
  const pieces = parts.flatMap(({ bytes, field = 'file', type = 'image/png', filename = 'photo.png' }) => {
    const name = filename === null ? '' : `; filename="${filename}"`;
    const typeLine = filename === null ? '' : `Content-Type: ${type}\r\n`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${field}"${name}\r\n${typeLine}\r\n`;
    return [Buffer.from(head), Buffer.from(bytes), Buffer.from('\r\n')];
  });
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    payload: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  };
}

/** One pixel. */
export const samplePng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);
