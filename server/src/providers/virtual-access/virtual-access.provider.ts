import type { ProviderDefinition } from '../provider.ts';
import { connectSite } from '../site-connection.ts';
import { virtualAccessManifest } from './virtual-access.manifest.ts';

export const virtualAccess: ProviderDefinition = {
  manifest: virtualAccessManifest,
  connect: (link, context) => connectSite(virtualAccessManifest, link, context),
};
