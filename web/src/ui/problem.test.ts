import { ApiCallError } from '@lintel/contract/client';
import { describe, expect, it } from 'vitest';
import { problemOf } from './problem.ts';

const refused = (status: number, code: string, retryAfter: number | null = null) =>
  new ApiCallError(status, { code, message: 'what the service said', correlationId: 'c-1' }, retryAfter);

describe('what the person reads', () => {
  it('warns against a second press exactly when the first may have worked', () => {
    expect(problemOf(refused(409, 'outcome_unknown')).text).toMatch(/look before you press again/);
    for (const code of ['device_unreachable', 'device_refused', 'unavailable', 'integration_disabled'])
      expect(problemOf(refused(502, code)).text).toMatch(/Nothing (happened|moved)/);
  });

  it('tells how long to wait', () => {
    expect(problemOf(refused(429, 'provider_open_rate_limited', 3)).text).toContain('Try again in 3 s.');
    expect(problemOf(refused(429, 'rate_limited', 40)).text).toBe(
      'What the service said. Try again in 40 s.',
    );
    expect(problemOf(refused(429, 'rate_limited')).text).toMatch(/Wait a moment/);
  });

  it('is the service’s own message for a code the page has no words for', () => {
    expect(problemOf(refused(403, 'policy_denied')).text).toBe('What the service said.');
  });

  it('carries the correlation id of an answer, and none where there was no answer', () => {
    expect(problemOf(refused(403, 'forbidden')).correlationId).toBe('c-1');
    expect(problemOf(new TypeError('fetch failed'))).toEqual({
      text: 'The service can not be reached.',
      correlationId: null,
    });
  });
});
