import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  connectRequest,
  disconnectRequest,
  disconnectResponse,
  groupRead,
  groupWrite,
  parseGroupAddress,
  parseIndividualAddress,
  readFrame,
  readTelegram,
  stateRequest,
  statusTexts,
  tunnellingAck,
  tunnellingRequest,
} from './knx.wire.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('what we send, as it was observed with knxd', () => {
  it.each([
    ['CONNECT', connectRequest(null), '06100205001a 0801000000000000 0801000000000000 04040200'],
    [
      'CONNECT with an address',
      connectRequest(0x11_fa),
      '06100205001c 0801000000000000 0801000000000000 0604020011fa',
    ],
    [
      'on',
      tunnellingRequest(1, 0, groupWrite(0x11_01, true)),
      '061004200015 04010000 1100bce000001101010081',
    ],
    [
      'off',
      tunnellingRequest(1, 0, groupWrite(0x11_01, false)),
      '061004200015 04010000 1100bce000001101010080',
    ],
    ['our acknowledgement', tunnellingAck(1, 0), '06100421000a 04010000'],
    ['read', tunnellingRequest(1, 2, groupRead(0x11_02)), '061004200015 04010200 1100bce000001102010000'],
    ['heartbeat', stateRequest(1), '061002070010 0100 0801000000000000'],
    ['disconnect', disconnectRequest(1), '061002090010 0100 0801000000000000'],
    ['answer to a disconnect', disconnectResponse(1), '0610020a0008 0100'],
  ])('%s', (_name, bytes, expected) => {
    expect(bytes.toString('hex')).toBe(hex(expected).toString('hex'));
  });
});

describe('what we hear, as it was observed with knxd', () => {
  it.each([
    ['061002060014 0100 0801000000000000 04040004', { kind: 'connect_response', channel: 1, status: 0 }],
    ['0610020600080024', { kind: 'connect_response', channel: 0, status: 0x24 }],
    ['06100421000a 04010000', { kind: 'tunnelling_ack', channel: 1, sequence: 0, status: 0 }],
    ['061002080008 0100', { kind: 'state_response', channel: 1, status: 0 }],
    ['0610020a0008 0100', { kind: 'disconnect_response', channel: 1 }],
    ['061002090010 0100 0801000000000000', { kind: 'disconnect_request', channel: 1 }],
  ])('%s', (bytes, frame) => {
    expect(readFrame(hex(bytes))).toEqual(frame);
  });

  it.each([
    [
      '061004200015 04010000 2e00bce000001101010081',
      { kind: 'confirmation', failed: false, group: 0x11_01, service: 'write', value: true },
    ],
    [
      '061004200015 04010000 2e00bde000001101010081',
      { kind: 'confirmation', failed: true, group: 0x11_01, service: 'write', value: true },
    ],
    [
      '061004200015 04010300 2900bcd000051102010041',
      { kind: 'indication', failed: false, group: 0x11_02, service: 'response', value: true },
    ],
  ])('%s', (bytes, telegram) => {
    const frame = readFrame(hex(bytes));
    if (frame?.kind !== 'tunnelling_request') throw new Error('not a tunnelled frame');
    expect(readTelegram(frame.cemi)).toEqual(telegram);
  });

  it('skips additional information', () => {
    const telegram = readTelegram(hex('29 03 010203 bcd000051102010041'));
    expect(telegram).toMatchObject({ group: 0x11_02, service: 'response' });
  });

  it.each([
    ['to a device, not a group', '2900 bc60 0005 1102 01 0081'],
    ['with a longer value', '2900 bcd0 0005 1102 02 0080ff'],
    ['of another service', '2900 bcd0 0005 1102 01 00c1'],
    ['that is cut off', '2900 bcd0 0005'],
  ])('leaves alone a telegram %s', (_name, bytes) => {
    expect(readTelegram(hex(bytes))).toBeNull();
  });

  it('has a text for each published status', () => {
    const published = [0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x29];
    expect(Object.keys(statusTexts).map(Number)).toEqual(published);
  });
});

describe('the parsers', () => {
  it('take any bytes without failing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        readFrame(Buffer.from(bytes));
        readTelegram(Buffer.from(bytes));
      }),
    );
  });

  it('take any body behind a good header without failing, and refuse a wrong length', () => {
    const codes = fc.constantFrom(0x02_06, 0x02_08, 0x02_09, 0x02_0a, 0x04_20, 0x04_21);
    fc.assert(
      fc.property(codes, fc.uint8Array({ maxLength: 40 }), (code, body) => {
        const header = hex('061000000000');
        header.writeUInt16BE(code, 2);
        header.writeUInt16BE(6 + body.length, 4);
        const bytes = Buffer.concat([header, body]);
        readFrame(bytes);
        expect(readFrame(Buffer.concat([bytes, Buffer.alloc(1)]))).toBeNull();
      }),
    );
  });

  it('read every group address as it is written', () => {
    const part = (max: number) => fc.nat(max);
    fc.assert(
      fc.property(part(31), part(7), part(255), (main, middle, sub) => {
        const number = main * 2048 + middle * 256 + sub;
        expect(parseGroupAddress(`${main}/${middle}/${sub}`)).toBe(number === 0 ? null : number);
      }),
    );
    expect(parseGroupAddress('2/1/1')).toBe(0x11_01);
  });

  it.each(['', '32/0/0', '1/8/1', '1/1/256', '1/1', '1.1.1', ' 1/1/1', '1/1/1 ', '-1/1/1', '1e0/1/1'])(
    'refuse %j as a group address',
    (text) => {
      expect(parseGroupAddress(text)).toBeNull();
    },
  );

  it('read individual addresses', () => {
    expect(parseIndividualAddress('1.1.250')).toBe(0x11_fa);
    expect(['16.1.1', '1.16.1', '1.1.256', '1/1/1', ''].map(parseIndividualAddress)).toEqual(
      Array<null>(5).fill(null),
    );
  });
});
