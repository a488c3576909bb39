const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** The text between double quotes; `rare` writes the control characters that have no short form. */
export const escapeText = (text: string, rare: (char: string) => string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped here
  text.replace(/["\\\u0000-\u001f\u007f-\u009f]/g, (char) => escapes[char] ?? rare(char));
