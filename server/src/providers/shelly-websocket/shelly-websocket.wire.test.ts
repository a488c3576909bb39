import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callFor, componentOf, deliveryOf, readFrame, statusOf, writeCall } from './shelly-websocket.wire.ts';

const switch0 = { type: 'switch', index: 0 } as const;
const cover0 = { type: 'cover', index: 0 } as const;
const id = 'shellyplus1-a8032abe41fc';

describe('the frames of the published examples', () => {
  it('reads a full status', () => {
    const text = `{"src":"${id}","dst":"ws","method":"NotifyFullStatus","params":{"ts":1650352163.8,"switch:0":{"id":0,"source":"init","output":false},"ws":{"connected":true}}}`;
    const frame = readFrame(text);
    expect(frame).toMatchObject({ kind: 'status', src: id, full: true });
    expect(frame).toHaveProperty(['params', 'switch:0', 'output'], false);
  });

  it('reads results, also the null of a cover, and errors', () => {
    expect(readFrame(`{"id":17,"src":"${id}","dst":"hub","result":{"was_on":false}}`)).toEqual({
      kind: 'reply',
      id: 17,
      reply: { kind: 'result', result: { was_on: false } },
    });
    expect(readFrame('{"id":18,"result":null}')).toMatchObject({ reply: { kind: 'result', result: null } });
    const error = `{"id":17,"error":{"code":-105,"message":"Argument 'id', value 7 not found!"}}`;
    expect(readFrame(error)).toMatchObject({ id: 17, reply: { kind: 'error', code: -105 } });
  });

  it('writes a pulse and the calls of a cover', () => {
    const pulse = callFor(switch0, 'open', 3);
    expect(pulse && JSON.parse(writeCall(17, id, pulse))).toEqual({
      id: 17,
      src: 'hub',
      dst: id,
      method: 'Switch.Set',
      params: { id: 0, on: true, toggle_after: 3 },
    });
    expect(callFor(switch0, 'close', 3)).toEqual({ method: 'Switch.Set', params: { id: 0, on: false } });
    expect(callFor(cover0, 'open', null)).toEqual({ method: 'Cover.Open', params: { id: 0 } });
    expect(callFor(cover0, 'close', null)).toEqual({ method: 'Cover.Close', params: { id: 0 } });
    expect(callFor(cover0, 'open', 3)).toEqual({ method: 'Cover.Open', params: { id: 0 } });
  });
});

describe('what is no frame', () => {
  it.each([
    '',
    'x',
    'null',
    '[]',
    '{}',
    '{"id":1}',
    '{"id":1,"error":null}',
    '{"id":"1","result":null}',
    '{"method":"NotifyStatus","params":{}}',
    '{"src":"a","method":"NotifyStatus","params":[]}',
    '{"src":"a","method":"NotifyEvent","params":{"events":[]}}',
  ])('is ignored: %s', (text) => expect(readFrame(text)).toBeNull());

  it('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        readFrame(text);
      }),
    );
  });
});

describe('an error', () => {
  it.each([-103, -105, -108, -109, 401, 404, 429])('%i is a refusal', (code) => {
    expect(deliveryOf(switch0, 'open', { kind: 'error', code }).kind).toBe('refused');
  });

  it.each([-104, -114, -1, 500, null])('%s leaves it open', (code) => {
    expect(deliveryOf(switch0, 'open', { kind: 'error', code }).kind).toBe('unknown');
  });
});

describe('a status', () => {
  it.each([
    [switch0, { output: true }, 'open'],
    [switch0, { output: false }, 'closed'],
    [switch0, { output: null }, 'unknown'],
    [switch0, {}, 'unknown'],
    [cover0, { state: 'open' }, 'open'],
    [cover0, { state: 'closed' }, 'closed'],
    [cover0, { state: 'opening', current_pos: 10 }, 'unknown'],
    [cover0, { state: 'closing', current_pos: 10 }, 'unknown'],
    [cover0, { state: 'calibrating' }, 'unknown'],
    [cover0, { state: 'stopped' }, 'unknown'],
    [cover0, { state: 'stopped', current_pos: 40 }, 'open'],
    [cover0, { state: 'stopped', current_pos: 0 }, 'closed'],
  ] as const)('of %o with %o is %s', (component, members, status) => {
    expect(statusOf(component, members)).toBe(status);
  });
});

describe('a component', () => {
  it('is an output by its number', () => {
    expect(componentOf('switch:0')).toEqual(switch0);
    expect(componentOf('cover:12')).toEqual({ type: 'cover', index: 12 });
    for (const bad of [
      '',
      'switch',
      'switch:',
      'switch:-1',
      'switch:100',
      'input:0',
      'switch:0 ',
      '__proto__',
    ])
      expect(componentOf(bad)).toBeNull();
  });
});
