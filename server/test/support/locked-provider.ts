import { Type } from 'typebox';
import type { Connection, Link, ProviderDefinition } from '../../src/providers/provider.ts';

/** A provider that wants an address and two secrets, and notes with what it was connected. */
export function lockedProvider(links: Link[] = []): ProviderDefinition {
  const closed = { additionalProperties: false };
  const connection: Connection = {
    actions: {},
    health: () => 'ok',
    bind: () => undefined,
    close: async () => undefined,
  };
  return {
    manifest: {
      type: 'locked',
      label: { en: 'Locked', de: 'Verschlossen' },
      config: Type.Object(
        {
          base_url: Type.String({ maxLength: 200 }),
          min_interval_ms: Type.Optional(Type.Integer({ minimum: 0 })),
        },
        closed,
      ),
      secrets: Type.Object(
        { token: Type.String({ minLength: 4 }), user: Type.Optional(Type.String()) },
        closed,
      ),
      deviceMetadata: Type.Object({}, closed),
      entityMetadata: Type.Object({}, closed),
      actions: ['open'],
      deviceExternalId: 'optional',
      entityExternalId: 'required',
      defaultMinIntervalMs: 250,
      defaultPulseSeconds: () => null,
    },
    connect: (link) => {
      links.push(link);
      return connection;
    },
  };
}
