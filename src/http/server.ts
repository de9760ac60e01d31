import { closeSync } from "node:fs";
import type { Socket, TCPSocketListener } from "bun";
import { InvariantError } from "../assert.ts";
import { HTTP_CONNECTIONS_MAX, IDLE_CONNECTION_SECONDS_MAX } from "../settings/limits.ts";
import { HttpConnection } from "./connection.ts";
import { OpenConnections, type OpenConnectionsOptions } from "./connection-eviction.ts";
import { duplicate, type ListeningSocket } from "./listening-socket.ts";
import type { ServerState } from "./server-state.ts";

/** Pause between two looks at connections that keep the server waiting. */
const SWEEP_MS = 1_000;
const STOP_POLL_MS = 5;
/** Pause between two attempts to accept again while there is no room. */
const FULL_MS = 10;
/** Connections accepted in one turn of the event loop, so that other work comes in between. */
const ACCEPTS_PER_TURN_MAX = 16;

export interface HttpServerOptions
  extends Pick<ServerState<HttpConnection>, "handle" | "refusal">,
    Pick<OpenConnectionsOptions, "onEvicted"> {
  /** The socket to accept from; the server closes it when it stops. */
  socket: ListeningSocket;
  /**
   * The network that an address's connections count for; undefined for a proxy, whose connections
   * count for no network.
   */
  networkOf?(address: string): string | undefined;
  /** Open connections beyond which a new one evicts a connection that waits for its client. */
  connectionsMax?: number;
  /** The same bound for one network; 0 is no limit. */
  connectionsPerNetworkMax?: number;
  /** Called when a connection met a broken invariant, and is ended for it. */
  onFault?(error: InvariantError): void;
}

export interface HttpServer {
  readonly port: number;
  /** Number of open connections. */
  connections(): number;
  /** Takes no more connections and waits for the responses that are owed. */
  stop(): Promise<void>;
}

/**
 * Serves HTTP/1.1 (and 1.0) without TLS over Bun's TCP sockets. A connection on which the client
 * lets the server wait for a whole request, or for its response to be read, is closed after
 * `IDLE_CONNECTION_SECONDS_MAX`.
 */
export function serveHttp(options: HttpServerOptions): HttpServer {
  const { socket, networkOf = (address) => address } = options;
  const open = new OpenConnections<HttpConnection>({
    max: options.connectionsMax ?? HTTP_CONNECTIONS_MAX,
    perNetworkMax: options.connectionsPerNetworkMax ?? 0,
    ...(options.onEvicted && { onEvicted: options.onEvicted }),
  });
  const state: ServerState<HttpConnection> = {
    handle: options.handle,
    refusal: options.refusal,
    onFirstRequest: (connection) => open.onFirstRequest(connection),
    seconds: 0,
    date: httpDate(),
    isStopping: false,
    bufferedBytes: 0,
  };
  const acceptor = createAcceptor(socket.fd, {
    onOpen(socket: Socket<HttpConnection>) {
      socket.setNoDelay(true);
      const connection = new HttpConnection(socket, state);
      socket.data = connection;
      if (!open.tryAdd(connection, networkOf(connection.peer))) socket.terminate();
      return open.hasRoom();
    },
    onClose: (connection) => open.remove(connection),
    hasRoom: () => open.hasRoom(),
    onFault: (error) => options.onFault?.(error),
  });

  const startedAt = performance.now();
  const sweep = setInterval(() => {
    state.date = httpDate();
    state.seconds = Math.floor((performance.now() - startedAt) / 1_000);
    for (const connection of open.connections()) connection.expire(IDLE_CONNECTION_SECONDS_MAX);
  }, SWEEP_MS);

  return {
    port: socket.port,
    connections: () => open.size,
    async stop() {
      state.isStopping = true;
      acceptor.close();
      for (const connection of open.connections()) connection.stop();
      const isBusy = () => Iterator.from(open.connections()).some((it) => it.isBusy());
      while (isBusy()) await Bun.sleep(STOP_POLL_MS);
      for (const connection of open.connections()) connection.end();
      clearInterval(sweep);
    },
  };
}

interface AcceptorHandlers {
  /** Takes an accepted connection; returns whether there is room for another. */
  onOpen(socket: Socket<HttpConnection>): boolean;
  onClose(connection: HttpConnection): void;
  hasRoom(): boolean;
  onFault(error: InvariantError): void;
}

/**
 * Accepts connections, but no more in one turn of the event loop than `ACCEPTS_PER_TURN_MAX`, and
 * none while there is no room. Bun alone accepts as long as connections come, and a crowd that
 * reconnects as soon as it is refused would let nothing else happen. Connections that are not
 * accepted wait in the kernel's queue. Bun can stop accepting only by closing its descriptor; the
 * queue belongs to the socket behind the descriptor, and stays.
 */
function createAcceptor(fd: number, handlers: AcceptorHandlers): { close(): void } {
  let listener: TCPSocketListener<HttpConnection> | undefined;
  let accepted = 0;
  let retry: Timer | undefined;
  let isClosed = false;

  function listen(): void {
    listener = Bun.listen<HttpConnection>({
      fd: duplicate(fd),
      // A client may close its side after its last request.
      allowHalfOpen: true,
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
      if (handlers.hasRoom()) listen();
    } catch {
      // The process has no descriptor left.
    }
    if (listener === undefined) retry = setTimeout(beginTurn, FULL_MS);
  }

  const socketHandlers = {
    open(socket: Socket<HttpConnection>) {
      if (accepted++ === 0) setImmediate(beginTurn);
      const hasRoom = handlers.onOpen(socket);
      if (!hasRoom || accepted >= ACCEPTS_PER_TURN_MAX) pause();
    },
    data: (socket: Socket<HttpConnection>, chunk: Buffer) => socket.data.receive(chunk),
    drain: (socket: Socket<HttpConnection>) => socket.data.drained(),
    end: (socket: Socket<HttpConnection>) => socket.data.ended(),
    close(socket: Socket<HttpConnection>) {
      socket.data.closed();
      handlers.onClose(socket.data);
    },
    /** Called for a reset, which closes the socket next, and for exceptions of other handlers. */
    error(socket: Socket<HttpConnection>, error: Error) {
      if (!(error instanceof InvariantError)) return;
      handlers.onFault(error);
      socket.terminate();
    },
  };

  listen();
  return {
    close() {
      isClosed = true;
      clearTimeout(retry);
      pause();
      closeSync(fd);
    },
  };
}

const httpDate = () => new Date().toUTCString();
