import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';

export const VirtualDemoConfig = Type.Object(
  {
    latency_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000, default: 0 })),
    failure_rate: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 0 })),
    failure_mode: Type.Optional(
      Type.Unsafe<'refuse' | 'unreachable' | 'lose_reply'>({
        type: 'string',
        enum: ['refuse', 'unreachable', 'lose_reply'],
        default: 'refuse',
        description: 'How a failure looks: the device says no, is not there, or acts and its answer is lost',
      }),
    ),
    auto_close_seconds: Type.Optional(Type.Number({ minimum: 0, maximum: 86_400, default: 5 })),
    min_interval_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000, default: 0 })),
  },
  { additionalProperties: false },
);
export type VirtualDemoConfig = Static<typeof VirtualDemoConfig>;

export type DemoFailure = NonNullable<VirtualDemoConfig['failure_mode']>;

export const NextFailures = Type.Object(
  {
    mode: Type.Unsafe<DemoFailure>({ type: 'string', enum: ['refuse', 'unreachable', 'lose_reply'] }),
    count: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 1 })),
  },
  { additionalProperties: false },
);
export type NextFailures = Static<typeof NextFailures>;

export const virtualDemoManifest: ProviderManifest = {
  type: 'virtual_demo',
  label: { en: 'Virtual demo' },
  config: VirtualDemoConfig,
  secrets: Type.Object({}, { additionalProperties: false }),
  // Anything: the demo stands in for every device.
  deviceMetadata: Type.Object({}, { additionalProperties: true }),
  entityMetadata: Type.Object({}, { additionalProperties: Type.String() }),
  actions: ['open', 'close', 'toggle'],
  connection: 'none',
  deviceExternalId: 'optional',
  entityExternalId: 'optional',
  defaultMinIntervalMs: 0,
  defaultPulseSeconds: (config, entityType) => {
    if (entityType === 'light') return null;
    const { auto_close_seconds: seconds = 5 } = config as VirtualDemoConfig;
    return seconds > 0 ? seconds : null;
  },
  ops: [
    {
      id: 'faults.next',
      label: { en: 'Let the next commands fail' },
      description:
        'The next commands to this integration fail in the given way, on the node that takes this request; 0 ends it.',
      input: NextFailures,
      effect: 'update',
    },
  ],
};
