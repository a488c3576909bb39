import type { ProviderDefinition } from '../provider.ts';
import { connectSite } from '../site-connection.ts';
import { commissaryManifest } from './commissary.manifest.ts';

export const commissary: ProviderDefinition = {
  manifest: commissaryManifest,
  connect: (link, context) => connectSite(commissaryManifest, link, context),
};
