import type { ProviderDefinition } from './provider.ts';
import { virtualDemo } from './virtual-demo/virtual-demo.provider.ts';

export const providerDefinitions: readonly ProviderDefinition[] = [virtualDemo];
