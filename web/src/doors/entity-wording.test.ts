import type { ActionResult } from '@lintel/contract/actions';
import { describe, expect, it } from 'vitest';
import { kindOf, nextStep, resultText, statusText } from './entity-wording.ts';

describe('the kind of an entity', () => {
  it.each([
    [{ entity_type: 'light', name: 'Gate light' }, 'light'],
    [{ entity_type: 'switch', name: 'Pump' }, 'switch'],
    [{ entity_type: 'door', name: 'Front door' }, 'door'],
    [{ entity_type: 'door', name: 'Courtyard Gate' }, 'gate'],
    [{ entity_type: 'door', name: 'Garage door' }, 'garage'],
    [{ entity_type: 'door', name: 'Main', entry_kind: 'boom-gate' }, 'gate'],
    [{ entity_type: 'door', name: null }, 'door'],
  ] as const)('of %o is %s', (entity, kind) => {
    expect(kindOf(entity)).toBe(kind);
  });
});

describe('the button', () => {
  it.each([
    ['door', 'closed', 'switchable.open', 'Open'],
    ['door', 'open', 'switchable.close', 'Close'],
    ['gate', 'unknown', 'switchable.open', 'Open'],
    ['garage', 'invalid', 'switchable.open', 'Open'],
    ['light', 'closed', 'switchable.open', 'Turn on'],
    ['light', 'open', 'switchable.close', 'Turn off'],
    ['switch', 'unknown', 'switchable.open', 'Turn on'],
  ] as const)('of a %s that is %s sends %s and says %s', (kind, status, actionId, label) => {
    expect(nextStep(kind, status)).toMatchObject({ actionId, label });
  });
});

describe('the state', () => {
  it('is never guessed', () => {
    expect(statusText('door', 'unknown')).toBe('Unknown');
    expect(statusText('light', 'invalid')).toBe('Not readable');
  });

  it('is open or closed for what one passes through, on or off for the rest', () => {
    expect([statusText('gate', 'open'), statusText('gate', 'closed')]).toEqual(['Open', 'Closed']);
    expect([statusText('light', 'open'), statusText('light', 'closed')]).toEqual(['On', 'Off']);
  });
});

describe('the result', () => {
  const result: ActionResult = {
    ok: true,
    correlation_id: 'c',
    attempt_id: 'a',
    entity_id: 'e',
    action_id: 'switchable.open',
    outcome: 'succeeded',
    state: 'open',
    state_source: 'observed',
    executed_at: '2026-01-01T00:00:00.000Z',
    latency_ms: 12,
  };

  it('says that a door is open only when it was seen open', () => {
    expect(resultText('door', result)).toBe('Opened in 12 ms.');
    expect(resultText('door', { ...result, state_source: 'commanded' })).toMatch(/does not report its state/);
    expect(resultText('light', result)).toBe('Turned on in 12 ms.');
  });

  it('tells how long a door stays open, and why it was slow', () => {
    const degradation = {
      stage: 'delayed',
      key: 'door_opens',
      period: 'day',
      current: 11,
      limit: 10,
      delayed_ms: 1000,
      message: 'Over the limit.',
    };
    const text = resultText('door', { ...result, door_open_duration_seconds: 5, degradation });
    expect(text).toBe('Opened in 12 ms. Closes by itself after 5 s. Over the limit.');
  });
});
