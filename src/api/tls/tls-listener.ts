import { closeSync } from "node:fs";
import type { Server } from "bun";
import type { Elysia } from "elysia";
import { listenError } from "../../errors.ts";
import { type ListeningSocket, openListeningSocket } from "../../http/listening-socket.ts";
import { descriptorOfListener, replaceSocket } from "../../http/sockets/listener-descriptor.ts";
import { relayTls, type TlsRelay } from "../../http/tls/relay.ts";
import type { TlsKeys } from "../../settings/files/tls-files.ts";

/**
 * TLS side of the control plane. With TLS, a relay decrypts the clients' connections and passes the
 * data on to the HTTP server, which then listens only on the loopback address.
 */
export class TlsListener {
  #relay: TlsRelay | undefined;

  constructor(private readonly onFailedHandshake: () => void) {}

  /**
   * Accepts TLS connections from `socket`, and passes their decrypted data on to the HTTP server at
   * `serverPort` of the loopback address.
   */
  start(socket: ListeningSocket, serverPort: number, tls: TlsKeys): void {
    const { onFailedHandshake } = this;
    this.#relay = relayTls({ socket, serverPort, tls, onFailedHandshake });
  }

  setTls(tls: TlsKeys): void {
    this.#relay?.setTls(tls);
  }

  /**
   * Returns the address of the client that sent a request. With TLS, returns undefined if a process
   * of this machine sent the request past the TLS relay; the caller must refuse such a request.
   */
  peerOf(request: Request, server: Server<unknown> | null): string | undefined {
    const peer = server?.requestIP(request);
    if (this.#relay === undefined) return peer?.address;
    return peer ? this.#relay.clientAt(peer.port) : undefined;
  }

  /** Whether the control plane uses TLS, but the request did not come through the TLS relay. */
  isForeign(request: Request, server: Server<unknown> | null): boolean {
    return this.#relay !== undefined && this.peerOf(request, server) === undefined;
  }

  stop(): void {
    this.#relay?.stop();
  }
}

/** Where the control plane listens. */
export interface ControlPlaneAddress {
  host: string;
  port: number;
  /**
   * Listening socket that another process has passed on. With it, `host` and `port` have no effect.
   */
  socket?: ListeningSocket | undefined;
  /** Certificate and key for TLS. Without them, connections are not encrypted. */
  tls?: TlsKeys | undefined;
}

/**
 * Makes the app accept connections from `address.socket` or, without this socket, at the host and
 * port. Returns the listening socket, which the app closes when it stops. Throws `StartError` if it
 * cannot listen.
 */
export function listenOn(
  app: Elysia,
  tlsListener: TlsListener,
  { tls, ...address }: ControlPlaneAddress,
): ListeningSocket {
  const socket = tls && (address.socket ?? openListeningSocket(address));
  try {
    if (socket === undefined) return listenPlain(app, address);
    app.listen({ hostname: "127.0.0.1", port: 0, reusePort: false });
    tlsListener.start(socket, app.server!.port!, tls!);
    return socket;
  } catch (error) {
    throw listenError(address, error);
  }
}

/**
 * Makes the app accept connections without TLS, on the socket `given` or on a new one at `host` and
 * `port`. A given socket replaces one that Bun has opened, because Bun can listen only on its own
 * sockets.
 */
function listenPlain(
  app: Elysia,
  { host, port, socket: given }: Omit<ControlPlaneAddress, "tls">,
): ListeningSocket {
  const address = { hostname: given?.host ?? host, port: given === undefined ? port : 0 };
  // By default, Elysia lets two servers share a port.
  const fd = descriptorOfListener(() => app.listen({ ...address, reusePort: false }));
  if (given === undefined) return { fd, port: app.server!.port! };
  replaceSocket(fd, given.fd);
  closeSync(given.fd);
  return { ...given, fd };
}
