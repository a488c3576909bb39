const namespace = 'http://www.w3.org/2000/svg';

const outlines = {
  lintel: 'M3 6h18M5 6v14M19 6v14M9 20v-9h6v9',
  door: 'M6 20V4h12v16M3 20h18M14.5 12v.5',
  gate: 'M3 20V8M21 20V8M3 11h18M3 17h18M7.5 11v6M12 11v6M16.5 11v6',
  garage: 'M3 20V9l9-5 9 5v11M7 20v-8h10v8M7 16h10',
  light: 'M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 10.9c.6.5.9 1.2.9 2.1h5.2c0-.9.3-1.6.9-2.1A6 6 0 0 0 12 3z',
  switch: 'M7 3h10a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM10 8h4v8h-4zM10 12h4',
} as const;

export type IconName = keyof typeof outlines;

/** Decoration only: the words beside it say the same. */
export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(namespace, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.classList.add('icon');
  const path = document.createElementNS(namespace, 'path');
  path.setAttribute('d', outlines[name]);
  svg.append(path);
  return svg;
}
