import { errorsMarkdown, eventsMarkdown, operationsMarkdown, rolesMarkdown } from './markdown.ts';
import { buildOpenApi } from './openapi.ts';
import { allOperations, apiBasePath } from './operations.ts';

/** What docs/generated holds, file name → content: the contract as it is on a fresh clone, with the default brand. */
export function generatedFiles(version: string): ReadonlyMap<string, string> {
  const document = buildOpenApi({
    operations: allOperations,
    serverUrl: `http://localhost:8080${apiBasePath}`,
    version,
    brand: 'service',
  });
  return new Map([
    ['openapi.json', `${JSON.stringify(document, null, 2)}\n`],
    ['errors.md', errorsMarkdown(allOperations)],
    ['roles.md', rolesMarkdown(allOperations)],
    ['events.md', eventsMarkdown(allOperations)],
    ['operations.md', operationsMarkdown(allOperations)],
  ]);
}
