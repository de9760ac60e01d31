import { isIP, type Socket } from "node:net";
import { EgressRefused } from "./checked-addresses.ts";
import type { Deadline } from "./deadline.ts";
import { type Endpoint, type OnStage, openSocket, secureSocket } from "./socket.ts";

export interface EgressTls {
  /** Certificate authorities (PEM) that replace the known ones. */
  ca?: string | undefined;
  /** The name that the certificate must be for, when it is not the host. */
  serverName?: string | undefined;
}

export interface ConnectTls extends EgressTls {
  /** ALPN names of the protocol inside TLS. */
  protocols?: string[];
  /**
   * The protocol's own exchange before TLS (PostgreSQL's SSLRequest): `request` is sent unencrypted,
   * and TLS begins when the peer responds with exactly `accept`. Any other response fails the
   * connection with the message `refusal`.
   */
  upgrade?: { request: Uint8Array; accept: Uint8Array; refusal: string };
}

export interface EgressConnectRequest {
  /** The workspace that owns the connection: workspaces share resolutions and connections fairly. */
  workspaceId: string;
  /** A host name or a literal address. */
  host: string;
  port: number;
  /** TLS settings; without them the connection is not encrypted. */
  tls?: ConnectTls | undefined;
  /** Time from the first DNS query until the connection is ready, TLS included. */
  timeoutMs: number;
  onStage?: OnStage | undefined;
  /** Aborts the attempt; does not close a connection that is ready. */
  signal: AbortSignal;
}

/** Idle time after which TCP probes the peer, to notice one that has vanished. */
const keepAliveMs = 15_000;

/** Opens a connection that is ready for its protocol. */
export function connectTo(
  endpoint: Endpoint,
  tls: ConnectTls | undefined,
  deadline: Deadline,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let socket: Socket;
    const fail = (reason: unknown) => {
      socket.destroy();
      reject(reason);
    };
    const watch = (watched: Socket) => {
      socket = watched;
      // This listener stays: without a listener, an error before the caller adds its own would end
      // the process.
      socket.on("error", fail);
      socket.once("close", () =>
        reject(new Error("The connection was closed before it was ready")),
      );
    };
    const ready = (error?: Error) => {
      if (error !== undefined) return fail(error);
      socket.setKeepAlive(true, keepAliveMs);
      resolve(socket);
    };
    const protocols = tls?.protocols;
    const upgrade = tls?.upgrade;
    if (upgrade === undefined) {
      watch(openSocket(endpoint, protocols, ready));
    } else {
      const { address, rules, port, onStage } = endpoint;
      const secure = () => watch(secureSocket(socket, endpoint, protocols, ready));
      watch(
        openSocket({ address, rules, port, onStage }, undefined, () =>
          requestTls(socket, upgrade, secure, fail),
        ),
      );
    }
    deadline.onEnd(fail);
  });
}

/**
 * Requests TLS in the protocol's own way. Refuses bytes after the response: TLS would take them for
 * its own, although a man in the middle could have injected them (CVE-2021-23222).
 */
function requestTls(
  socket: Socket,
  { request, accept, refusal }: NonNullable<ConnectTls["upgrade"]>,
  secure: () => void,
  fail: (reason: unknown) => void,
): void {
  socket.once("data", (answer: Buffer) => {
    if (answer.equals(accept)) secure();
    else fail(new TlsRefused(refusal));
  });
  socket.write(request);
}

/** The peer does not offer TLS, which the caller requires. */
export class TlsRefused extends Error {
  override readonly name = "TlsRefused";
}

/**
 * Normalizes a host as URLs do, so that HTTP and other protocols read all spellings of an address
 * alike; an IPv6 address gets no brackets. Throws `EgressRefused` for any other text.
 */
export function checkedHost(text: string): string {
  const host = isIP(text) === 6 ? `[${text}]` : text;
  const url = /[/?#@\\\s]|:(?![^[]*\])/.test(host) ? null : URL.parse(`http://${host}/`);
  if (url === null) throw new EgressRefused("Expected a host name or an address, without a port");
  return hostOf(url);
}

/** The host of a URL, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** The name that the certificate must have: the host without the final dot of a full name. */
export function tlsHostOf(host: string, address: string): string {
  return isIP(host) === 0 ? host.replace(/\.$/, "") : address;
}
