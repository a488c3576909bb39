import { allOperations } from '@lintel/contract/operations';
import { defineConfig, type Plugin } from 'vite';

/**
 * The client needs the method and path of each operation, and nothing of its schemas. Read from the contract at build
 * time, the table is 2 KB; imported, it brings TypeBox along.
 */
function slimOperations(): Plugin {
  const slim = allOperations.map(({ id, method, path }) => [id, { method, path }] as const);
  return {
    name: 'lintel-slim-operations',
    enforce: 'pre',
    load: (id) =>
      /\/contract\/src\/operations\.ts$/.test(id)
        ? `const byId = ${JSON.stringify(Object.fromEntries(slim))}; export const operationById = (id) => byId[id];`
        : null,
  };
}

export default defineConfig({
  plugins: [slimOperations()],
  build: {
    target: 'es2022',
    // The pages' content policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: true,
  },
  server: {
    proxy: Object.fromEntries(['/api', '/identity', '/docs'].map((path) => [path, 'http://localhost:8080'])),
  },
});
