import type { HandlersOf } from '../../kernel/handler.ts';

export interface BackendStatus {
  readonly environment: string;
  readonly version: string;
}

export function statusRoutes(status: BackendStatus): HandlersOf<'get_backend_status'> {
  return { get_backend_status: async () => status };
}
