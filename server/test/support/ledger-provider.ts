import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Type } from 'typebox';
import type { ProviderDefinition } from '../../src/providers/provider.ts';

/** One file for all nodes: who held the connection when, and who sent what. */
export interface LedgerLine {
  readonly node: string;
  readonly integration: string;
  readonly event: 'connect' | 'close' | 'command';
  readonly intent?: string;
}

/** A device that notes everything. It stands in for `virtual_demo`, with a connection that needs a lease. */
export function ledgerProvider(file: string, node: string): ProviderDefinition {
  const write = (line: Omit<LedgerLine, 'node'>) =>
    appendFileSync(file, `${JSON.stringify({ node, ...line })}\n`);
  const anything = Type.Object({}, { additionalProperties: true });
  return {
    manifest: {
      type: 'virtual_demo',
      label: { en: 'Ledger' },
      config: anything,
      secrets: anything,
      deviceMetadata: anything,
      entityMetadata: anything,
      actions: ['open', 'close'],
      deviceExternalId: 'optional',
      entityExternalId: 'optional',
      defaultMinIntervalMs: 0,
      defaultPulseSeconds: () => null,
    },
    connect({ integrationId: integration }, { clock }) {
      write({ integration, event: 'connect' });
      const send = async (intent: string, deadlineMs: number) => {
        if (clock.monotonicMs() >= deadlineMs) return { kind: 'not_sent', reason: 'too late' } as const;
        write({ integration, event: 'command', intent });
        return { kind: 'delivered', observed: null } as const;
      };
      return {
        actions: { open: ({ intentId, deadlineMs }) => send(intentId, deadlineMs) },
        health: () => 'ok',
        bind: () => undefined,
        close: async () => write({ integration, event: 'close' }),
      };
    },
  };
}

export function readLedger(file: string): LedgerLine[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as LedgerLine);
}

/** The last node that connected holds the connection; a command of another was sent under a lease that is over. */
export function staleCommands(ledger: readonly LedgerLine[]): LedgerLine[] {
  const holder = new Map<string, string>();
  return ledger.filter(({ node, integration, event }) => {
    if (event === 'connect') holder.set(integration, node);
    return event === 'command' && holder.get(integration) !== node;
  });
}
