/** A browser's cookies, by hand: what it would keep of an answer and send with the next request. */
export interface CookieJar {
  take(lines: readonly string[] | string | undefined): void;
  header(): string;
  value(name: string): string | undefined;
  names(): string[];
}

export function createCookieJar(): CookieJar {
  const cookies = new Map<string, string>();
  return {
    take(lines) {
      for (const line of lines === undefined ? [] : [lines].flat()) {
        const [pair = '', ...attributes] = line.split('; ');
        const at = pair.indexOf('=');
        const name = pair.slice(0, at);
        if (attributes.includes('Max-Age=0')) cookies.delete(name);
        else cookies.set(name, pair.slice(at + 1));
      }
    },
    header: () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    value: (name) => cookies.get(name),
    names: () => [...cookies.keys()],
  };
}
