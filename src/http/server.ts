import { closeSync } from "node:fs";
import type { Socket, TCPSocketListener } from "bun";
import { InvariantError } from "../assert.ts";
import type { TlsKeys } from "../settings/files/tls-files.ts";
import {
  HTTP_BODY_BYTES_MAX,
  IDLE_CONNECTION_SECONDS_MAX,
  KEPT_CONNECTIONS_MS,
  REQUEST_EXPECTED_MS,
} from "../settings/limits.ts";
import { BufferedBytes } from "./buffered-bytes.ts";
import { HttpConnection } from "./connection.ts";
import { OpenConnections, type OpenConnectionsOptions } from "./connection-eviction.ts";
import { duplicate, type ListeningSocket } from "./listening-socket.ts";
import type { ServerState } from "./server-state.ts";

/** Milliseconds between two checks for connections that have waited too long for their clients. */
const SWEEP_MS = 1_000;
const STOP_POLL_MS = 5;
/**
 * Milliseconds between two attempts to accept connections again, while the server accepts none
 * because it has too many of them or no free file descriptor.
 */
const FULL_MS = 10;
/**
 * Maximum number of connections that are accepted in one iteration of the event loop. The limit
 * lets other work run in between.
 */
const ACCEPTS_PER_TURN_MAX = 16;

export interface HttpServerOptions
  extends Pick<ServerState<HttpConnection>, "handle" | "refusal">,
    OpenConnectionsOptions {
  /** The socket from which connections are accepted. The server's `stop` closes it. */
  socket: ListeningSocket;
  /**
   * Returns the network of a client's IP address. The limits per network apply to all connections
   * of a network together. Returns undefined for a trusted proxy, whose connections have no limit
   * per network.
   */
  networkOf?(address: string): string | undefined;
  /**
   * Returns the largest size in bytes of the body of a request to this path. The default is
   * `HTTP_BODY_BYTES_MAX` for all paths.
   */
  bodyBytesMax?(path: string): number;
  /** Certificate and key for TLS. Without them, connections are not encrypted. */
  tls?: TlsKeys | undefined;
  /** Called when a client did not complete the TLS handshake. The connection is then closed. */
  onFailedHandshake?(): void;
  /** Called when an assertion failed while a connection was handled. That connection is closed. */
  onFault?(error: InvariantError): void;
}

export type HttpServer = ReturnType<typeof serveHttp>;

/**
 * Starts an HTTP/1.1 (and 1.0) server. Closes a connection whose client takes longer than
 * `IDLE_CONNECTION_SECONDS_MAX` to complete the TLS handshake, to send a request (longer for a
 * large body), or to read a response.
 */
export function serveHttp(options: HttpServerOptions) {
  const { socket, networkOf = (address) => address } = options;
  const open = new OpenConnections<HttpConnection>(options);
  const state: ServerState<HttpConnection> = {
    handle: options.handle,
    refusal: options.refusal,
    bodyBytesMax: options.bodyBytesMax ?? (() => HTTP_BODY_BYTES_MAX),
    networkOf,
    onFirstRequest: (connection) => open.onFirstRequest(connection),
    seconds: 0,
    date: httpDate(),
    isStopping: false,
    buffered: new BufferedBytes(),
  };
  const acceptor = createAcceptor(options, open, state);

  const startedAt = performance.now();
  const sweep = setInterval(() => {
    state.date = httpDate();
    state.seconds = Math.floor((performance.now() - startedAt) / 1_000);
    for (const connection of open.connections()) connection.expire(IDLE_CONNECTION_SECONDS_MAX);
  }, SWEEP_MS);

  /**
   * Closes the connections that wait for a request. If `waits` is true, keeps those on which a
   * request is probably on its way. Returns whether a connection was kept, or has a response to
   * send.
   */
  function stopIdle(waits: boolean): boolean {
    let isBusy = false;
    for (const connection of open.connections()) {
      if (connection.isResponding() || (waits && connection.isExpecting())) isBusy = true;
      else connection.stop();
    }
    return isBusy;
  }

  return {
    port: socket.port,
    /** Returns the number of open connections. */
    connections: () => open.size,
    /** Changes certificate and key for new connections. Open connections keep theirs. */
    setTls: (tls: TlsKeys) => acceptor.setTls(tls),
    /** Changes the maximum number of open connections of one client network; 0 means no limit. */
    setConnectionsPerNetworkMax: (max: number) => open.setPerNetworkMax(max),
    /**
     * Ends open connections before `stop`, so that fewer clients send a request just when `stop`
     * closes their connection. Each is closed after its next response; idle ones after
     * `KEPT_CONNECTIONS_MS`. New connections are still accepted.
     */
    async drain() {
      state.isStopping = true;
      await Bun.sleep(KEPT_CONNECTIONS_MS);
      stopIdle(true);
      await Bun.sleep(REQUEST_EXPECTED_MS);
    },
    /**
     * Stops accepting connections. Resolves when all responses are sent. A client that has just
     * connected, or has sent part of a request, gets `REQUEST_EXPECTED_MS` to send a complete
     * request. A client gets `IDLE_CONNECTION_SECONDS_MAX` to read its response.
     */
    async stop() {
      state.isStopping = true;
      acceptor.close();
      const expectedUntil = performance.now() + REQUEST_EXPECTED_MS;
      while (stopIdle(performance.now() < expectedUntil)) await Bun.sleep(STOP_POLL_MS);
      for (const connection of open.connections()) connection.release();
      clearInterval(sweep);
    },
  };
}

/**
 * Accepts connections from the socket in `options`, and adds them to `open`. Accepts at most
 * `ACCEPTS_PER_TURN_MAX` per iteration of the event loop, and none while `open` has no room. Other
 * connections wait in the kernel's queue.
 *
 * Bun listens on a duplicate of the socket's file descriptor, because Bun can stop accepting only
 * by closing the descriptor.
 */
function createAcceptor(
  options: HttpServerOptions,
  open: OpenConnections<HttpConnection>,
  state: ServerState<HttpConnection>,
) {
  const { fd } = options.socket;
  let { tls } = options;
  let listener: TCPSocketListener<HttpConnection> | undefined;
  let accepted = 0;
  let retry: Timer | undefined;
  let isClosed = false;

  function listen(): void {
    listener = Bun.listen<HttpConnection>({
      fd: duplicate(fd),
      // A client may close its side after its last request and still read the responses.
      allowHalfOpen: true,
      // Listening again with the same certificate and key takes 0.05 ms, because Bun caches them
      // in parsed form.
      ...(tls && { tls }),
      socket: socketHandlers,
    } as never);
  }

  function pause(): void {
    listener?.stop();
    listener = undefined;
  }

  function beginTurn(): void {
    accepted = 0;
    if (listener !== undefined || isClosed) return;
    try {
      if (open.hasRoom()) listen();
    } catch {
      // The process has no free file descriptor.
    }
    if (listener === undefined) retry = setTimeout(beginTurn, FULL_MS);
  }

  const socketHandlers = {
    open(socket: Socket<HttpConnection>) {
      if (accepted++ === 0) setImmediate(beginTurn);
      socket.setNoDelay(true);
      const connection = new HttpConnection(socket, state);
      socket.data = connection;
      if (!open.tryAdd(connection, connection.network)) socket.terminate();
      if (!open.hasRoom() || accepted >= ACCEPTS_PER_TURN_MAX) pause();
    },
    handshake(_: Socket<HttpConnection>, isComplete: boolean) {
      if (!isComplete) options.onFailedHandshake?.();
    },
    data: (socket: Socket<HttpConnection>, chunk: Buffer) => socket.data.receive(chunk),
    drain: (socket: Socket<HttpConnection>) => socket.data.drained(),
    end: (socket: Socket<HttpConnection>) => socket.data.ended(),
    close(socket: Socket<HttpConnection>) {
      socket.data.closed();
      open.remove(socket.data);
    },
    /**
     * Called by Bun when another function of this object throws, or when the client resets the
     * connection. Reports a failed assertion and closes the connection; ignores any other error.
     */
    error(socket: Socket<HttpConnection>, error: Error) {
      if (!(error instanceof InvariantError)) return;
      options.onFault?.(error);
      socket.terminate();
    },
  };

  listen();
  return {
    setTls(next: TlsKeys): void {
      tls = next;
      if (listener === undefined) return;
      pause();
      beginTurn();
    },
    close(): void {
      isClosed = true;
      clearTimeout(retry);
      pause();
      closeSync(fd);
    },
  };
}

const httpDate = () => new Date().toUTCString();
