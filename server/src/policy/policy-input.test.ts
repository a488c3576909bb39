import { describe, expect, it } from 'vitest';
import { AppError } from '../kernel/app-error.ts';
import { type PolicyInput, requirePolicyInput } from './policy-input.ts';

const step: PolicyInput = {
  scope: 'org',
  policyType: 'require_step_up',
  config: {},
  enforcement: 'enforce',
  capability: null,
};

const forbid = (principal: string, when: string) =>
  `forbid (${principal}, action, resource) when { ${when} };`;

function pathOf(input: Partial<PolicyInput>): string | undefined {
  try {
    requirePolicyInput({ ...step, ...input });
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.status).toBe(400);
    return error.details?.[0]?.path;
  }
}

describe('a policy as it is written', () => {
  it.each<[Partial<PolicyInput>]>([
    [{}],
    [{ config: { applies_to: ['agent', 'api_key'], output: 2 }, capability: 'switchable' }],
    [{ policyType: 'quiet_hours', config: { start: '22:00', end: '06:00', output: null } }],
    [{ policyType: 'approval_threshold', config: { count: 2, scope: 'org_admins' } }],
    [{ policyType: 'holiday_calendar', config: { dates: ['2026-12-25'] } }],
    [{ policyType: 'invitation_curfew', config: { windows: [{ start: '22:00', end: '05:00' }] } }],
    [{ policyType: 'invitation_curfew', config: { start: '22:00', end: '05:00' } }],
    [{ policyType: 'user_sharing', config: { mode: 'none' }, enforcement: 'require_approval' }],
    [{ policyType: 'cedar', config: { policy: forbid('principal is Agent', 'context.weekday == 0') } }],
    [{ policyType: 'invitation_max_uses', config: { max_uses: 1 }, scope: 'device' }],
  ])('is taken: %j', (input) => {
    expect(pathOf(input)).toBeUndefined();
  });

  it.each<[string, Partial<PolicyInput>]>([
    ['/policy_type', { policyType: 'toString' }],
    ['/policy_type', { policyType: 'user_sharing', config: { mode: 'none' }, scope: 'device' }],
    [
      '/enforcement',
      { policyType: 'approval_threshold', config: { count: 1 }, enforcement: 'require_approval' },
    ],
    ['/capability', { capability: 'No Such' }],
    ['/capability', { capability: 'swichable' }],
    ['/config', { config: null }],
    ['/config/applies_to', { config: { applies_to: [] } }],
    ['/config/applies_to/0', { config: { applies_to: ['everyone'] } }],
    ['/config/extra', { config: { extra: 1 } }],
    ['/config/end', { policyType: 'quiet_hours', config: { start: '22:00' } }],
    ['/config/start', { policyType: 'quiet_hours', config: { start: '24:00', end: '06:00' } }],
    ['/config/applies_to', { policyType: 'approval_threshold', config: { count: 1, applies_to: ['agent'] } }],
    ['/config/count', { policyType: 'approval_threshold', config: { count: 0 } }],
    ['/config/dates/0', { policyType: 'holiday_calendar', config: { dates: ['2026-02-30'] } }],
    ['/config/policy', { policyType: 'cedar', config: { policy: 'permit (principal, action, resource);' } }],
    ['/config/policy', { policyType: 'cedar', config: { policy: forbid('principal', 'resource.no_such') } }],
    ['/config/policy', { policyType: 'cedar', config: { policy: 'forbid (' } }],
    [
      '/config/policy',
      {
        policyType: 'cedar',
        config: { policy: `${forbid('principal', 'true')}${forbid('principal', 'true')}` },
      },
    ],
    ['/config/windows', { policyType: 'invitation_curfew', config: {} }],
    [
      '/config/start',
      {
        policyType: 'invitation_curfew',
        config: { windows: [{ start: '01:00', end: '02:00' }], start: '01:00' },
      },
    ],
  ])('is refused at %s: %j', (path, input) => {
    expect(pathOf(input)).toBe(path);
  });
});
