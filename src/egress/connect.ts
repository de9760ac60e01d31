import { isIP, type Socket } from "node:net";
import { codeOf } from "../errors.ts";
import { EgressRefused } from "./checked-addresses.ts";
import type { Deadline } from "./deadline.ts";
import {
  type ConnectStage,
  type Endpoint,
  type OnStage,
  openSocket,
  secureSocket,
  trueErrorOf,
} from "./socket.ts";

export interface EgressTls {
  /** Certificate authorities (PEM) to trust instead of the default ones. */
  ca?: string | undefined;
  /** Host name that the peer's certificate must contain, if it differs from `host`. */
  serverName?: string | undefined;
}

interface ConnectTls extends EgressTls {
  /**
   * Exchange before TLS, for protocols that need one (PostgreSQL's SSLRequest). `request` is sent
   * unencrypted. After any response other than exactly `accept`, the connection fails with the
   * message from `refusal`.
   */
  upgrade?: { request: Uint8Array; accept: Uint8Array; refusal: (answer: Buffer) => string };
}

export interface EgressConnectRequest {
  /**
   * The workspace (tenant) that makes the connection. It has a limited number of connections, and
   * of DNS resolutions at a time.
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
  /** Aborts the attempt to connect. Has no effect on a connection that is ready. */
  signal: AbortSignal;
}

/** Milliseconds without data after which TCP checks whether the peer still exists. */
const keepAliveMs = 15_000;

/**
 * Opens a connection to an endpoint. Resolves with the socket when the TLS handshake is complete
 * or, without TLS, when the TCP connection is made.
 */
export function connectTo(
  endpoint: Endpoint,
  tls: ConnectTls | undefined,
  deadline: Deadline,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let socket: Socket;
    let isConnected = false;
    const onStage = (stage: ConnectStage) => {
      isConnected = true;
      endpoint.onStage?.(stage);
    };
    const fail = (reason: unknown) => {
      socket.destroy();
      reject(reason);
    };
    const lost = (reason: Error) => {
      // A connection that is lost after it was made was waiting for TLS: without TLS, it would be
      // ready by then. A server without TLS closes the connection when it reads the handshake.
      fail(isConnected ? new TlsRefused(handshakeLost) : reason);
    };
    const watch = (watched: Socket) => {
      socket = watched;
      // This listener stays. Without it, an error before the caller adds its own listener would end
      // the process.
      socket.on("error", (error) =>
        (codeOf(error) === "ECONNRESET" ? lost : fail)(trueErrorOf(error)),
      );
      socket.once("close", () => lost(new Error("The connection was closed before it was ready")));
    };
    const ready = (error?: Error) => {
      if (error !== undefined) return fail(error);
      socket.setKeepAlive(true, keepAliveMs);
      resolve(socket);
    };
    const upgrade = tls?.upgrade;
    if (upgrade === undefined) watch(openSocket({ ...endpoint, onStage }, undefined, ready));
    else {
      const secure = () => watch(secureSocket(socket, endpoint, ready));
      const begin = () => requestTls(socket, upgrade, secure, fail);
      watch(openSocket({ ...endpoint, onStage, tlsHost: undefined }, undefined, begin));
    }
    deadline.onEnd(fail);
  });
}

/**
 * Sends the `request` of `ConnectTls.upgrade`. Calls `secure` if the response is exactly `accept`,
 * and `fail` otherwise. Bytes after `accept` are refused, because a man in the middle may have
 * injected them (CVE-2021-23222).
 */
function requestTls(
  socket: Socket,
  { request, accept, refusal }: NonNullable<ConnectTls["upgrade"]>,
  secure: () => void,
  fail: (reason: unknown) => void,
): void {
  socket.once("data", (answer: Buffer) => {
    if (answer.equals(accept)) secure();
    else fail(new TlsRefused(refusal(answer)));
  });
  socket.write(request);
}

const handshakeLost =
  "The server closed the connection in the TLS handshake; it may not speak TLS on this port";

/** Thrown when a connection needs TLS and the peer does not offer it. */
export class TlsRefused extends Error {
  override readonly name = "TlsRefused";
}

/**
 * Normalizes a host name or address as URL parsing does, so that all protocols treat the notations
 * of an address alike. Returns an IPv6 address without brackets. Throws `EgressRefused` when `text`
 * is not a host.
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
 * Returns the name that the peer's certificate must contain: `host` without a final dot. If `host`
 * is an IP address, returns `address`, to which the socket connects.
 */
export function tlsHostOf(host: string, address: string): string {
  return isIP(host) === 0 ? host.replace(/\.$/, "") : address;
}
