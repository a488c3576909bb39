import { createCipheriv, createDecipheriv } from 'node:crypto';
import { type HttpPeer, type PeerAnswer, type PeerCall, startHttpPeer } from './http-peer.ts';

export interface PalgatePeerOptions {
  readonly phone: string;
  readonly sessionTokenHex: string;
  readonly tokenType: number;
  readonly gates: readonly string[];
}

/** The PalGate cloud for one account (wire-facts 5): it checks the token of every call as the vendor does. */
export interface PalgatePeer {
  readonly http: HttpPeer;
  readonly url: string;
  /** Every pulse that reached a gate, as `id/output`. */
  readonly pulses: readonly string[];
}

export async function startPalgatePeer(options: PalgatePeerOptions): Promise<PalgatePeer> {
  const pulses: string[] = [];
  const http = await startHttpPeer((call) => answer(options, pulses, call));
  return { http, url: `${http.url}/v1/bt/`, pulses };
}

function answer(options: PalgatePeerOptions, pulses: string[], call: PeerCall): PeerAnswer {
  if (call.method !== 'GET') return { status: 404, body: { error: 'resource not found, check api path' } };
  if (!isTokenFresh(options, String(call.headers['x-bt-token'])))
    return { status: 401, body: { errId: 7101, status: '401', msg: 'Invalid Token or Key' } };
  if (call.path === '/v1/bt/user/check-token')
    return { status: 200, body: { err: null, msg: 'token valid', status: 'ok' } };
  if (call.path === '/v1/bt/devices/') {
    const rights = { name1: 'Yard', output1: true, output2: true, admin: true, localOnly: false };
    const devices = options.gates.map((id) => ({ id, ...rights }));
    return { status: 200, body: { err: null, msg: 'all my devices', status: 'ok', devices } };
  }
  const gate = /^\/v1\/bt\/device\/([^/]+)\/open-gate$/.exec(call.path)?.[1];
  if (gate === undefined) return { status: 404, body: { error: 'resource not found, check api path' } };
  if (!options.gates.includes(gate))
    return { status: 400, body: { err: 'check device', msg: 'check device', status: 'failed' } };
  pulses.push(`${gate}/${call.query.get('outputNum')}`);
  return { status: 200, body: { err: null, msg: 'Gate opened: true', status: 'ok' } };
}

/** Opens the token instead of making a second one: the far side's half of the derivation. */
function isTokenFresh({ phone, sessionTokenHex, tokenType }: PalgatePeerOptions, token: string): boolean {
  const bytes = Buffer.from(token, 'hex');
  if (bytes.length !== 23 || token !== token.toUpperCase()) return false;
  if (bytes[0] !== [0x01, 0x11, 0x21][tokenType] || bytes.readUIntBE(1, 6) !== Number(phone)) return false;
  const stepKey = Buffer.concat([
    Buffer.from('fad325728129', 'hex'),
    bytes.subarray(1, 7),
    Buffer.from('3ab45a65', 'hex'),
  ]);
  const session = createDecipheriv('aes-128-ecb', stepKey, null).setAutoPadding(false);
  const key = session.update(Buffer.from(sessionTokenHex, 'hex'));
  const block = createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(bytes.subarray(7));
  const sealedAgain = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(block);
  const age = Date.now() / 1000 - (block.readUInt32BE(10) - 2);
  // Generous: a busy machine must not make a token old.
  const isFresh = Math.abs(age) < 60;
  return sealedAgain.equals(bytes.subarray(7)) && block[1] === 0x0a && block[2] === 0x0a && isFresh;
}
