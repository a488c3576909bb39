import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  crc16,
  flashOn,
  isRefusal,
  mbapFraming,
  readCoils,
  readReply,
  rtuFraming,
  writeCoil,
} from './waveshare.wire.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const rtu = (pdu: Buffer): string => rtuFraming.encode(1, 0, pdu).toString('hex');

describe('published frames', () => {
  it.each([
    ['on', writeCoil(0, 'on'), '01 05 00 00 FF 00 8C 3A'],
    ['off', writeCoil(0, 'off'), '01 05 00 00 00 00 CD CA'],
    ['toggle', writeCoil(0, 'toggle'), '01 05 00 00 55 00 F2 9A'],
    ['pulse of 0.7 s', flashOn(0, 0.7), '01 05 02 00 00 07 8D B0'],
    ['relay 2, 0.8 s', flashOn(1, 0.8), '01 05 02 01 00 08 9C 74'],
    ['pulse of 2 s', flashOn(0, 2), '01 05 02 00 00 14 CC 7D'],
    ['read 30 relays', readCoils(30), '01 01 00 00 00 1E BC 02'],
  ])('RTU: %s', (_name, pdu, frame) => {
    expect(rtu(pdu)).toBe(hex(frame).toString('hex'));
  });

  it('CRC of a flash-off, which the service never sends', () => {
    const frame = hex('01 05 04 00 00 07 8D 38');
    expect(crc16(frame.subarray(0, -2))).toBe(frame.readUInt16LE(6));
  });

  it('RTU: relay 1 of 30 is on', () => {
    const frame = rtuFraming.decode(hex('01 01 04 01 00 00 00 FA 2D'));
    if (frame === null || frame === 'malformed') throw new Error('not a frame');
    const reply = readReply(readCoils(30), frame.pdu);
    expect(reply).toEqual({ kind: 'coils', coils: [true, ...Array<boolean>(29).fill(false)] });
  });

  it('RTU: exception 2', () => {
    const frame = rtuFraming.decode(hex('01 85 02 C3 51'));
    if (frame === null || frame === 'malformed') throw new Error('not a frame');
    expect(readReply(writeCoil(0, 'on'), frame.pdu)).toEqual({ kind: 'exception', code: 2 });
  });

  it('Modbus TCP: on', () => {
    expect(mbapFraming.encode(1, 1, writeCoil(0, 'on'))).toEqual(hex('0001 0000 0006 01 05 0000 FF00'));
  });
});

describe('a pulse', () => {
  it('lasts at least one and at most 0x7FFF tenths of a second', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), (seconds) => {
        const tenths = flashOn(3, seconds).readUInt16BE(3);
        expect(tenths).toBeGreaterThanOrEqual(1);
        expect(tenths).toBeLessThanOrEqual(0x7f_ff);
      }),
    );
  });
});

describe('a reply', () => {
  it('answers a write only when it is the same byte for byte', () => {
    const request = flashOn(4, 2);
    const anyReply = fc.uint8Array({ minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(anyReply, (bytes) => {
        const reply = readReply(request, Buffer.from(bytes));
        expect(reply?.kind === 'done').toBe(request.equals(bytes));
      }),
    );
    expect(readReply(request, Buffer.from(request))).toEqual({ kind: 'done' });
  });

  it('gives every relay its own bit', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }), (coils) => {
        const bytes = Array.from({ length: Math.ceil(coils.length / 8) }, (_, byte) =>
          coils.slice(byte * 8, byte * 8 + 8).reduce((sum, on, bit) => sum + (on ? 2 ** bit : 0), 0),
        );
        const reply = Buffer.from([1, bytes.length, ...bytes]);
        expect(readReply(readCoils(coils.length), reply)).toEqual({ kind: 'coils', coils });
      }),
    );
  });

  it.each([
    ['of another function', '02 01 01'],
    ['that is too short', '01 01'],
    ['with more bytes than asked for', '01 02 00 00'],
  ])('%s does not answer a read', (_name, reply) => {
    expect(readReply(readCoils(8), hex(reply))).toBeNull();
  });

  it('proves that nothing happened with exceptions 1 to 3 only', () => {
    const codes = [1, 2, 3, 4, 5, 6, 8, 0x0a, 0x0b];
    expect(codes.filter(isRefusal)).toEqual([1, 2, 3]);
  });
});

describe.each([
  ['mbap', mbapFraming],
  ['rtu', rtuFraming],
])('the stream parser of %s', (_name, framing) => {
  it('finds a frame however the stream is cut, and what follows it', () => {
    const pdu = writeCoil(7, 'on');
    const frame = framing.encode(1, 99, pdu);
    fc.assert(
      fc.property(fc.nat(frame.length - 1), fc.uint8Array({ maxLength: 20 }), (cut, rest) => {
        expect(framing.decode(frame.subarray(0, cut))).toBeNull();
        const found = framing.decode(Buffer.concat([frame, rest]));
        expect(found).toMatchObject({ unit: 1, pdu, length: frame.length });
      }),
    );
  });

  it('takes any bytes without failing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const found = framing.decode(Buffer.from(bytes));
        if (found !== null && found !== 'malformed') expect(found.length).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});

describe('a frame that can never become one', () => {
  it('is told apart: a changed bit in RTU', () => {
    const frame = rtuFraming.encode(1, 0, writeCoil(0, 'on'));
    fc.assert(
      fc.property(fc.integer({ min: 16, max: frame.length * 8 - 1 }), (bit) => {
        const broken = Buffer.from(frame);
        broken.writeUInt8(broken.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        expect(rtuFraming.decode(broken)).toBe('malformed');
      }),
    );
  });

  it.each(['0001 0001 0006 01 050000FF00', '0001 0000 0001 01 00', '0001 0000 0100 01 00'])(
    'is told apart: header %s',
    (bytes) => {
      expect(mbapFraming.decode(hex(bytes))).toBe('malformed');
    },
  );
});
