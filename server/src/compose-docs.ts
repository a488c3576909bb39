import { generatedFiles } from '@lintel/contract/generated-files';
import { providersPage } from './providers/manifest-page.ts';
import { providerDefinitions } from './providers/registry.ts';

/** What docs/generated holds: from the contract, and from the manifests of the providers. */
export function composeDocs(version: string): ReadonlyMap<string, string> {
  const manifests = [...providerDefinitions.values()].map(({ manifest }) => manifest);
  return new Map([...generatedFiles(version), ['providers.md', providersPage(manifests)]]);
}
