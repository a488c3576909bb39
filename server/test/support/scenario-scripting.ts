// A valid request for running a script.
import type { Recipe } from './scenario.ts';

export const scriptingScenarios: Readonly<Record<'execute_script', Recipe>> = {
  execute_script: {
    needs: ['execute'],
    noBypass: true,
    prepare: async () => ({ body: { script: 'print("a"); 40 + 2' } }),
  },
};
