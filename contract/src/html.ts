/** Markup that is safe to send. Only `html` makes it, and `html` escapes every text it is given. */
export interface Html {
  readonly [markup]: string;
}

declare const markupBrand: unique symbol;
const markup: typeof markupBrand = Symbol('markup') as typeof markupBrand;

export type HtmlPart = Html | string | number | readonly HtmlPart[];

export function html(literals: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  const text = literals.reduce((before, literal, index) => {
    const part = parts[index - 1];
    return before + (part === undefined ? '' : render(part)) + literal;
  });
  return { [markup]: text };
}

/** For a page's own style sheet, whose text must stay as it is for its hash to fit. */
export function styleElement(css: string): Html {
  if (/<\/style/i.test(css)) throw new Error('the style sheet would end its own element');
  return { [markup]: `<style>${css}</style>` };
}

export function textOf(page: Html): string {
  return page[markup];
}

function render(part: HtmlPart): string {
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  if (isList(part)) return part.map(render).join('');
  return part[markup];
}

function isList(part: Html | readonly HtmlPart[]): part is readonly HtmlPart[] {
  return Array.isArray(part);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
