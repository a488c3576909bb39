import { type Command, InvalidArgumentError } from 'commander';
import type { Start } from '../context.ts';

/** Each asks the command itself, so that it never lags behind; without candidates shells complete file names. */
const scripts = {
  bash: `_lintel() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(lintel __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _lintel lintel`,
  zsh: `#compdef lintel
_lintel() {
  local -a candidates
  candidates=("\${(@f)$(lintel __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${candidates[1]}" ]]; then compadd -a candidates; else _files; fi
}
compdef _lintel lintel`,
  fish: `function __lintel_complete
  set -l words (commandline -opc) (commandline -ct)
  lintel __complete -- $words[2..-1] 2>/dev/null
end
complete -c lintel -a '(__lintel_complete)'`,
} as const;

type Shell = keyof typeof scripts;

export function addCompletionCommand(program: Command, start: Start): void {
  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish', readShell)
    .description(
      'print a script that completes lintel in a shell, for example: source <(lintel completion bash)',
    )
    .action((shell: Shell, _options: object, command: Command) => {
      const { terminal, isJson } = start(command);
      if (isJson) terminal.printJson({ shell, script: scripts[shell] });
      else terminal.print(scripts[shell]);
    });
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action((words: string[], _options: object, command: Command) => {
      const found = candidatesFor(program, words);
      if (found.length > 0) start(command).terminal.print(found.join('\n'));
    });
}

function readShell(value: string): Shell {
  if (!Object.hasOwn(scripts, value)) throw new InvalidArgumentError('Known are bash, zsh and fish.');
  return value as Shell;
}

/** What may stand for the last word, which is perhaps begun. */
export function candidatesFor(program: Command, words: readonly string[]): string[] {
  const begun = words.at(-1) ?? '';
  const command = words.slice(0, -1).reduce(descend, program);
  const options = [...command.options, ...program.options].flatMap(({ long }) => long ?? []);
  const names = command.commands.map((each) => each.name()).filter((name) => !name.startsWith('__'));
  const choices = begun.startsWith('-') ? options : [...names, ...shellsOf(command)];
  return [...new Set(choices)].filter((each) => each.startsWith(begun));
}

const descend = (command: Command, word: string): Command =>
  command.commands.find((each) => each.name() === word) ?? command;

const shellsOf = (command: Command): string[] =>
  command.name() === 'completion' ? Object.keys(scripts) : [];
