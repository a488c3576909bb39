import { type HttpPeer, type PeerAnswer, type PeerCall, startHttpPeer } from './http-peer.ts';

export interface ShellySwitch {
  output: boolean;
  /** The device's own timer, as it was told; null without one. */
  toggleAfter: number | null;
}

/** The Shelly cloud for one account (wire-facts 2), v1 and v2, with as many switches as are asked for. */
export interface ShellyCloudPeer {
  readonly http: HttpPeer;
  readonly switches: ReadonlyMap<string, ShellySwitch>;
  readonly offline: Set<string>;
  /** v2 answers a switch with an empty body; some accounts see `isok`. */
  answerWith(body: '' | 'isok'): void;
  /** Calls of one account closer together than this are refused with this status; 0 refuses none. */
  throttle(intervalMs: number, status?: 401 | 429): void;
}

interface Cloud {
  readonly key: string;
  readonly switches: Map<string, ShellySwitch>;
  readonly offline: Set<string>;
  body: '' | 'isok';
  intervalMs: number;
  throttleStatus: number;
  lastCallAt: number;
}

export async function startShellyCloudPeer(key: string, names: readonly string[]): Promise<ShellyCloudPeer> {
  const cloud: Cloud = {
    key,
    switches: new Map(names.map((name) => [name, { output: false, toggleAfter: null }])),
    offline: new Set(),
    body: '',
    intervalMs: 0,
    throttleStatus: 429,
    lastCallAt: Number.NEGATIVE_INFINITY,
  };
  const http = await startHttpPeer((call) => answer(cloud, call));
  return {
    http,
    switches: cloud.switches,
    offline: cloud.offline,
    answerWith: (body) => {
      cloud.body = body;
    },
    throttle: (intervalMs, status = 429) => {
      cloud.intervalMs = intervalMs;
      cloud.throttleStatus = status;
    },
  };
}

function answer(cloud: Cloud, call: PeerCall): PeerAnswer {
  const now = performance.now();
  const tooSoon = now - cloud.lastCallAt < cloud.intervalMs;
  cloud.lastCallAt = now;
  if (tooSoon) return { status: cloud.throttleStatus, body: { error: 'TOO_MANY_REQUESTS' } };
  if (call.method !== 'POST') return { status: 404, body: 'not found' };
  return call.path.startsWith('/v2/') ? answerV2(cloud, call) : answerV1(cloud, call);
}

function answerV2(cloud: Cloud, call: PeerCall): PeerAnswer {
  if (call.query.get('auth_key') !== cloud.key) return { status: 401, body: { error: 'UNAUTHORIZED' } };
  const body = JSON.parse(call.body);
  if (call.path === '/v2/devices/api/get') {
    if (!Array.isArray(body.ids) || body.ids.length < 1 || body.ids.length > 10) return badRequest;
    return { status: 200, body: body.ids.flatMap((id: string) => recordOf(cloud, id)) };
  }
  if (call.path !== '/v2/devices/api/set/switch') return { status: 404, body: 'not found' };
  if (typeof body.on !== 'boolean' || typeof body.channel !== 'number') return badRequest;
  if (cloud.offline.has(body.id)) return { status: 400, body: { error: 'DEVICE_OFFLINE' } };
  const found = cloud.switches.get(`${body.id}/${body.channel}`);
  if (found === undefined) return badRequest;
  found.output = body.on;
  found.toggleAfter = body.toggle_after ?? null;
  return { status: 200, body: cloud.body === '' ? '' : { isok: true } };
}

const badRequest: PeerAnswer = {
  status: 400,
  body: { error: 'BAD_REQUEST', data: { messages: ['no such device'] } },
};

function recordOf({ switches, offline }: Cloud, id: string): unknown[] {
  const own = [...switches].filter(([name]) => name.startsWith(`${id}/`));
  if (own.length === 0) return [];
  const components = own.map(([name, { output }]) => {
    const index = Number(name.split('/')[1]);
    return [`switch:${index}`, { id: index, output, source: 'SHC' }];
  });
  const online = offline.has(id) ? 0 : 1;
  return [
    { id, type: 'relay', code: 'SNSW-001X16EU', gen: 'G2', online, status: Object.fromEntries(components) },
  ];
}

function answerV1(cloud: Cloud, call: PeerCall): PeerAnswer {
  const form = new URLSearchParams(call.body);
  if (form.get('auth_key') !== cloud.key || call.query.size > 0)
    return { status: 401, body: { isok: false, errors: { invalid_token: 'no access' } } };
  const id = form.get('id') ?? '';
  if (call.path === '/device/status') {
    const relays = [...cloud.switches]
      .filter(([name]) => name.startsWith(`${id}/`))
      .map(([, { output }]) => ({ ison: output, source: 'cloud' }));
    const data = { online: !cloud.offline.has(id), device_status: { relays, code: 'SHSW-1' } };
    return { status: 200, body: { isok: true, data } };
  }
  const found = cloud.switches.get(`${id}/${form.get('channel')}`);
  if (call.path !== '/device/relay/control' || found === undefined || cloud.offline.has(id))
    return { status: 200, body: { isok: false, errors: { device_not_found: 'no such device' } } };
  found.output = form.get('turn') === 'on';
  return { status: 200, body: { isok: true, data: { device_id: id } } };
}
