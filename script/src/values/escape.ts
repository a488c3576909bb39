const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** The text between double quotes; `rare` writes the control characters that have no short form. */
export const escapeText = (text: string, rare: (char: string) => string): string =>
  text.replace(/["\\\p{Cc}]/gu, (char) => escapes[char] ?? rare(char));
