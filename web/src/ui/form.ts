import { el, setAttribute } from './element.ts';
import { problemOf } from './problem.ts';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: 'email' | 'password' | 'text';
  readonly autocomplete: string;
  readonly hint?: string;
  readonly numeric?: boolean;
  readonly optional?: boolean;
  readonly minLength?: number;
}

/** What a submission was refused for: as a whole, and by field. */
export interface FormProblem {
  readonly message: string | null;
  readonly fields: Readonly<Record<string, string>>;
}

export interface FormOptions {
  readonly fields: readonly Field[];
  readonly submit: string;
  readonly busy: string;
  /** Null when it went well; the page then goes on by itself. */
  readonly onSubmit: (values: Readonly<Record<string, string>>) => Promise<FormProblem | null>;
}

export function createForm(options: FormOptions): HTMLFormElement {
  const summary = el('p', { class: 'notice bad', role: 'alert', tabindex: '-1', hidden: true });
  const inputs = options.fields.map(createField);
  const submit = el('button', { type: 'submit', class: 'primary' }, options.submit);
  const form = el('form', { class: 'form' }, summary, ...inputs.map(({ row }) => row), submit);
  let isBusy = false;

  function setBusy(busy: boolean): void {
    isBusy = busy;
    setAttribute(submit, 'aria-disabled', busy ? 'true' : null);
    submit.textContent = busy ? options.busy : options.submit;
  }

  function show(problem: FormProblem): void {
    for (const input of inputs) input.show(problem.fields[input.name] ?? null);
    summary.textContent = summaryOf(problem, options.fields);
    summary.hidden = summary.textContent === '';
    const wrong = inputs.find(({ name }) => name in problem.fields);
    (wrong?.input ?? summary).focus();
  }

  async function send(): Promise<void> {
    setBusy(true);
    const values = Object.fromEntries(inputs.map(({ name, input }) => [name, input.value]));
    const problem = await options
      .onSubmit(values)
      .catch((error: unknown) => wholeProblem(problemOf(error).text));
    if (problem === null) return;
    setBusy(false);
    show(problem);
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!isBusy) void send();
  });
  return form;
}

/** What belongs to no field on this page is said above all of them. */
function summaryOf({ message, fields }: FormProblem, shown: readonly Field[]): string {
  const others = Object.entries(fields).filter(([name]) => !shown.some((field) => field.name === name));
  return [...(message === null ? [] : [message]), ...others.map(([, text]) => text)].join(' ');
}

export function wholeProblem(message: string): FormProblem {
  return { message, fields: {} };
}

function createField(field: Field) {
  const id = `field-${field.name.replaceAll('.', '-')}`;
  const error = el('p', { id: `${id}-error`, class: 'field-error', hidden: true });
  const hint =
    field.hint === undefined ? null : el('p', { id: `${id}-hint`, class: 'field-hint' }, field.hint);
  const input = el('input', {
    id,
    name: field.name,
    type: field.type,
    autocomplete: field.autocomplete,
    required: field.optional !== true,
    minlength: field.minLength === undefined ? null : String(field.minLength),
    inputmode: field.numeric === true ? 'numeric' : null,
    autocapitalize: field.name.endsWith('name') ? 'words' : 'none',
    spellcheck: 'false',
    'aria-describedby': [hint?.id, error.id].filter(Boolean).join(' '),
  });
  const label = el('label', { for: id }, field.label);
  if (field.optional === true) label.append(' ', el('span', { class: 'quiet' }, '(optional)'));
  return {
    name: field.name,
    input,
    row: el('div', { class: 'field' }, label, input, hint, error),
    show(message: string | null): void {
      setAttribute(input, 'aria-invalid', message === null ? null : 'true');
      error.textContent = message ?? '';
      error.hidden = message === null;
    },
  };
}
