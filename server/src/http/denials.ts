import type { OperationSpec } from '@lintel/contract/operation';
import { type AuditOrigin, recordEvent } from '../audit/audit.store.ts';
import type { Database } from '../db/database.ts';
import type { AppError } from '../kernel/app-error.ts';

const denialCodes = new Set([
  'forbidden',
  'csrf_rejected',
  'policy_denied',
  'approval_required',
  'quota_exceeded',
]);

export function isDenial(error: AppError): boolean {
  return denialCodes.has(error.code) && !error.audited;
}

export interface DenialRecorder {
  record(operation: OperationSpec, origin: AuditOrigin, orgId: string | null, error: AppError): Promise<void>;
}

/** Every refusal leaves one event: of the operation's own type where it has one. */
export function createDenialRecorder(db: Database, rootOrgId: string): DenialRecorder {
  return {
    async record(operation, origin, orgId, error) {
      const target = orgId ?? rootOrgId;
      await db.inOrg(target, (tx) =>
        recordEvent(tx, origin, {
          orgId: target,
          type: operation.audit ?? 'access.denied',
          outcome: 'denied',
          details: { operation: operation.id, code: error.code, message: error.message },
        }),
      );
    },
  };
}
