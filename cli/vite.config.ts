import { allOperations } from '@lintel/contract/operations';
import { defineConfig, type Plugin } from 'vite';

/** As for the pages: the client needs method, path and kind of body of each operation, and nothing of its schemas. */
function slimOperations(): Plugin {
  const slim = allOperations.map(({ id, method, path, upload }) => [id, { method, path, upload }] as const);
  return {
    name: 'lintel-slim-operations',
    enforce: 'pre',
    load: (id) =>
      /\/contract\/src\/operations\.ts$/.test(id)
        ? `const byId = ${JSON.stringify(Object.fromEntries(slim))};
           export const operationById = (id) => byId[id];
           export const apiBasePath = '/api/v1';`
        : null,
  };
}

/** Files without dependencies, as Node strips no types inside node_modules; the first looks at Node before it reads the others. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [slimOperations()],
  ssr: { noExternal: true, target: 'node' },
  build: {
    ssr: 'src/start.ts',
    target: 'node22',
    outDir: 'dist',
    minify: false,
    rolldownOptions: {
      output: {
        entryFileNames: 'lintel.js',
        chunkFileNames: '[name].js',
        banner: ({ isEntry }) => (isEntry ? '#!/usr/bin/env node' : ''),
      },
    },
  },
});
