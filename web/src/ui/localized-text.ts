/** The text in the first language of the reader that there is; else English, else any. */
export function localized(
  texts: Readonly<Record<string, string>>,
  languages: readonly string[] = navigator.languages,
): string {
  for (const language of [...languages, 'en']) {
    const text = texts[language] ?? texts[language.split('-')[0] ?? ''];
    if (text !== undefined) return text;
  }
  return Object.values(texts)[0] ?? '';
}
