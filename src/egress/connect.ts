import { isIP, type Socket } from "node:net";
import { EgressRefused } from "./checked-addresses.ts";
import type { Deadline } from "./deadline.ts";
import { type Endpoint, type OnStage, openSocket, secureSocket } from "./socket.ts";

export interface EgressTls {
  /** Certificate authorities (PEM) to trust instead of the default ones. */
  ca?: string | undefined;
  /** Host name that the peer's certificate must contain, if it differs from `host`. */
  serverName?: string | undefined;
}

interface ConnectTls extends EgressTls {
  /** ALPN names of the protocol to use inside TLS. */
  protocols?: string[];
  /**
   * An exchange before TLS, for protocols that need one (PostgreSQL's SSLRequest). `request` is
   * sent unencrypted, and TLS begins when the peer responds with exactly `accept`. Any other
   * response fails the connection with the message `refusal`.
   */
  upgrade?: { request: Uint8Array; accept: Uint8Array; refusal: string };
}

export interface EgressConnectRequest {
  /**
   * The workspace (tenant) that the connection counts for. The numbers of DNS resolutions and
   * connections are bounded for each workspace.
   */
  workspaceId: string;
  /** A host name or an IP address. */
  host: string;
  port: number;
  /** TLS settings. Without them, the connection is not encrypted. */
  tls?: ConnectTls | undefined;
  /**
   * Longest time in milliseconds from the first DNS query until the connection is ready, including
   * TLS.
   */
  timeoutMs: number;
  onStage?: OnStage | undefined;
  /** Ends the attempt to connect when it is aborted. Does not close a connection that is ready. */
  signal: AbortSignal;
}

/** Idle time in milliseconds after which TCP checks whether the peer still exists. */
const keepAliveMs = 15_000;

/**
 * Opens a connection to an endpoint. Resolves with the socket after the TLS handshake, or after the
 * TCP connection was made when there is no TLS.
 */
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
      // This listener stays. Without it, an error before the caller adds its own listener would end
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
 * Asks the peer to begin TLS, with the request and response of `ConnectTls.upgrade`. Fails when
 * more bytes follow the response: a man in the middle may have injected them, and TLS would treat
 * them as encrypted data (CVE-2021-23222).
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

/** The connection failed because the caller requires TLS and the peer does not offer it. */
export class TlsRefused extends Error {
  override readonly name = "TlsRefused";
}

/**
 * Normalizes a host name or address in the same way as a URL does, so that HTTP and other protocols
 * treat every notation of an address alike. An IPv6 address gets no brackets. Throws
 * `EgressRefused` when the text is no host.
 */
export function checkedHost(text: string): string {
  const host = isIP(text) === 6 ? `[${text}]` : text;
  const url = /[/?#@\\\s]|:(?![^[]*\])/.test(host) ? null : URL.parse(`http://${host}/`);
  if (url === null) throw new EgressRefused("Expected a host name or an address, without a port");
  return hostOf(url);
}

/** Returns the host of a URL. An IPv6 address has no brackets. */
export function hostOf({ hostname }: Pick<URL, "hostname">): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/**
 * Returns the host name that the peer's certificate must contain: `host` without the dot at the end
 * of a fully qualified name.
 */
export function tlsHostOf(host: string, address: string): string {
  return isIP(host) === 0 ? host.replace(/\.$/, "") : address;
}
