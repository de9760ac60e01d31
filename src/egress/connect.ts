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
   * What the protocol says before TLS, unencrypted (PostgreSQL's SSLRequest): `request` is written,
   * and TLS begins when the other side answers with exactly `accept`.
   */
  upgrade?: { request: Uint8Array; accept: Uint8Array; refusal: string };
}

export interface EgressConnectRequest {
  /** Whose connection it is: workspaces share look-ups and connections fairly. */
  workspaceId: string;
  /** A name or a literal address. */
  host: string;
  port: number;
  /** Without TLS settings the connection is not encrypted. */
  tls?: ConnectTls | undefined;
  /** From the first look-up until the connection is ready, TLS included. */
  timeoutMs: number;
  onStage?: OnStage | undefined;
  /** Gives the attempt up; a connection that is ready is not ended. */
  signal: AbortSignal;
}

/** Connections that are silent for so long are probed, to notice a peer that is gone. */
const keepAliveMs = 15_000;

/** A connection to this address that is ready for its protocol. */
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
      // This listener stays: without one, an error while nobody owns the socket would end the
      // process.
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
      const { address, port, onStage } = endpoint;
      const secure = () => watch(secureSocket(socket, endpoint, protocols, ready));
      watch(
        openSocket({ address, port, onStage }, undefined, () =>
          agree(socket, upgrade, secure, fail),
        ),
      );
    }
    deadline.onEnd(fail);
  });
}

/**
 * Asks for TLS. Bytes beyond the answer are refused: they would be taken for the first ones inside
 * TLS, although anybody on the way could have written them (CVE-2021-23222).
 */
function agree(
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

/** The other side does not offer TLS, which the caller requires. */
export class TlsRefused extends Error {
  override readonly name = "TlsRefused";
}

/**
 * A host in the form that URLs have, so that HTTP and other protocols read all spellings of an
 * address alike; an IPv6 address has no brackets.
 */
export function checkedHost(text: string): string {
  const host = isIP(text) === 6 ? `[${text}]` : text;
  const url = /[/?#@\\\s]|:(?![^[]*\])/.test(host) ? null : URL.parse(`http://${host}/`);
  if (url === null) throw new EgressRefused("Expected a host name or an address, without a port");
  return hostOf(url);
}

/** Host name without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/**
 * The name that the certificate must be for; certificates do not have the final dot of a full name.
 */
export function tlsHostOf(host: string, address: string): string {
  return isIP(host) === 0 ? host.replace(/\.$/, "") : address;
}
