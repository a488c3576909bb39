import type { Entity } from '@lintel/contract/entities';
import { el } from '../ui/element.ts';
import { createEntityRow, type EntityRow, type Press } from './entity-row.ts';
import { isEntrance, kindOf } from './entity-wording.ts';

export interface EntityList {
  readonly element: HTMLElement;
  update(entities: readonly Entity[], total: number): void;
}

/** Rows are kept by id, so that a refresh takes neither the focus nor a result away. */
export function createEntityList(press: Press | null): EntityList {
  const rows = new Map<string, EntityRow>();
  const groups = [
    { ...createGroup('Doors and gates'), holds: (entity: Entity) => isEntrance(kindOf(entity)) },
    { ...createGroup('Lights and switches'), holds: (entity: Entity) => !isEntrance(kindOf(entity)) },
  ];
  const note = el('p', { class: 'quiet', hidden: true });

  function rowOf(entity: Entity): EntityRow {
    const row = rows.get(entity.id) ?? createEntityRow(entity, press);
    rows.set(entity.id, row);
    row.update(entity);
    return row;
  }

  return {
    element: el('div', { class: 'groups' }, ...groups.map(({ section }) => section), note),
    update(entities, total) {
      const known = new Set(entities.map(({ id }) => id));
      for (const id of rows.keys()) if (!known.has(id)) rows.delete(id);
      for (const group of groups)
        group.show(entities.filter(group.holds).map((entity) => rowOf(entity).element));
      note.textContent = noteText(entities.length, total);
      note.hidden = note.textContent === '';
    },
  };
}

function noteText(shown: number, total: number): string {
  if (total === 0) return 'There is nothing to open here yet.';
  return shown < total ? `The first ${shown} of ${total} are shown.` : '';
}

function createGroup(title: string) {
  const list = el('ul', { class: 'entities' });
  const section = el('section', { hidden: true }, el('h2', {}, title), list);
  return {
    section,
    show(elements: readonly HTMLLIElement[]): void {
      section.hidden = elements.length === 0;
      const isSame =
        list.children.length === elements.length && elements.every((row, at) => list.children[at] === row);
      if (!isSame) list.replaceChildren(...elements);
    },
  };
}
