/** Text of others must not move the cursor, change colours or hide what follows. */
export const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
    char === '\u200d' ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
