import { type HttpPeer, startHttpPeer } from './http-peer.ts';

/** The video relay, as far as its list of streams (wire-facts 8). */
export interface Go2rtcPeer {
  readonly http: HttpPeer;
  readonly streams: Set<string>;
}

export async function startGo2rtcPeer(): Promise<Go2rtcPeer> {
  const streams = new Set<string>();
  const http = await startHttpPeer(({ method, path }) => {
    if (method !== 'GET' || path !== '/api/streams') return { status: 404, body: '404 page not found' };
    const list = [...streams].map((name) => [
      name,
      { producers: [{ url: 'rtsp://192.0.2.7/' }], consumers: null },
    ]);
    return { status: 200, body: Object.fromEntries(list) };
  });
  return { http, streams };
}
