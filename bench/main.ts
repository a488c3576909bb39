import { benchDecide } from './decide.ts';
import { benchOpen } from './open.ts';
import { benchScript } from './script.ts';
import { benchScriptDoors } from './script-doors.ts';

const benches: Record<string, () => Promise<void>> = {
  open: benchOpen,
  script: benchScript,
  'script-doors': benchScriptDoors,
  decide: benchDecide,
};
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));

for (const name of names.length > 0 ? names : Object.keys(benches)) {
  const bench = benches[name];
  if (bench === undefined)
    throw new Error(`there is no bench ${name}; there are: ${Object.keys(benches).join(', ')}`);
  await bench();
}
