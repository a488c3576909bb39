/**
 * Where a browser may be sent after a flow: an address of this service, in the normal form of the URL standard, or null.
 * Everything else is an open redirect.
 */
export function sameOriginTarget(wanted: string, publicUrl: string): string | null {
  if (!URL.canParse(wanted, publicUrl)) return null;
  const url = new URL(wanted, publicUrl);
  if (url.origin !== publicUrl || url.username !== '' || url.password !== '') return null;
  return url.href;
}
