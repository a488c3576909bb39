type Child = Node | string | null;
type Attributes = Readonly<Record<string, string | boolean | null>>;

/** Children become text or nodes, never markup: what somebody called a door can not become an element. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function setAttribute(node: Element, name: string, value: string | boolean | null): void {
  if (value === null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? '' : value);
}

/** Leaves an equal text alone, so that a screen reader is not told the same thing twice. */
export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

export function button(label: string, look: string, onPress: () => void): HTMLButtonElement {
  const node = el('button', { type: 'button', class: look }, label);
  node.addEventListener('click', onPress);
  return node;
}
