import { closeSync } from "node:fs";
import type { Elysia } from "elysia";
import { listenError } from "../../errors.ts";
import { type ListeningSocket, openListeningSocket } from "../../http/listening-socket.ts";
import { descriptorOfListener, replaceSocket } from "../../http/sockets/listener-descriptor.ts";
import type { TlsKeys } from "../../settings/files/tls-files.ts";
import type { TlsListener } from "./tls-listener.ts";

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
 * Makes the app accept connections without TLS. Bun cannot take over a listening socket. If one is
 * `given`, the app listens at a free port, and the given socket then replaces the app's own.
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
