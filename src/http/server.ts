import { closeSync } from "node:fs";
import type { Socket, TCPSocketListener } from "bun";
import { HTTP_CONNECTIONS_MAX, IDLE_CONNECTION_SECONDS_MAX } from "../settings/limits.ts";
import { HttpConnection, type ServerState } from "./connection.ts";
import { OpenConnections, type OpenConnectionsOptions } from "./connection-eviction.ts";
import { duplicate, type ListeningSocket } from "./listening-socket.ts";

const SWEEP_MS = 1_000;
const STOP_POLL_MS = 5;
const FULL_MS = 10;
/**
 * Connections accepted in one turn of the event loop; more of them wait for the next turns, so that
 * other work comes in between.
 */
const ACCEPTS_PER_TURN_MAX = 16;

export interface HttpServerOptions
  extends Pick<ServerState, "handle" | "refusal">,
    Pick<OpenConnectionsOptions, "onEvicted"> {
  /** The socket to accept from; the server closes it when it stops. */
  socket: ListeningSocket;
  /**
   * The network that an address's connections count for; undefined for a proxy, whose connections
   * count for no network.
   */
  networkOf?(address: string): string | undefined;
  /**
   * When so many connections are open, a new one takes the place of one that waits for its client.
   */
  connectionsMax?: number;
  /** The same bound for one network; 0 is no limit. */
  connectionsPerNetworkMax?: number;
}

export interface HttpServer {
  readonly port: number;
  /** Connections that are open. */
  connections(): number;
  /** Takes no more connections and waits for the answers that are owed. */
  stop(): Promise<void>;
}

/**
 * Serves HTTP/1.1 (and 1.0) without TLS over Bun's TCP sockets. A connection on which the client
 * lets the server wait for a whole request, or for its answer to be read, is closed after
 * `IDLE_CONNECTION_SECONDS_MAX`.
 */
export function serveHttp(options: HttpServerOptions): HttpServer {
  const { socket, networkOf = (address) => address, handle, refusal } = options;
  const places = new OpenConnections<HttpConnection>({
    max: options.connectionsMax ?? HTTP_CONNECTIONS_MAX,
    perNetworkMax: options.connectionsPerNetworkMax ?? 0,
    ...(options.onEvicted && { onEvicted: options.onEvicted }),
  });
  const shared: ServerState = {
    ...{ handle, refusal, onFirstRequest: (connection) => places.onFirstRequest(connection) },
    ...{ seconds: 0, date: now(), isStopping: false, bufferedBytes: 0 },
  };
  const door = createAcceptor(socket.fd, {
    open(socket: Socket<HttpConnection>) {
      socket.setNoDelay(true);
      const connection = new HttpConnection(socket, shared);
      socket.data = connection;
      if (!places.tryAdd(connection, networkOf(connection.peer))) socket.terminate();
      return places.hasRoom();
    },
    close: (connection) => places.remove(connection),
    hasRoom: () => places.hasRoom(),
  });

  const startedAt = performance.now();
  const sweep = setInterval(() => {
    shared.date = now();
    shared.seconds = Math.floor((performance.now() - startedAt) / 1_000);
    for (const connection of places.connections()) connection.expire(IDLE_CONNECTION_SECONDS_MAX);
  }, SWEEP_MS);

  return {
    port: socket.port,
    connections: () => places.size,
    async stop() {
      shared.isStopping = true;
      door.close();
      for (const connection of places.connections()) connection.stop();
      const isBusy = () => Iterator.from(places.connections()).some((it) => it.isBusy());
      while (isBusy()) await Bun.sleep(STOP_POLL_MS);
      for (const connection of places.connections()) connection.end();
      clearInterval(sweep);
    },
  };
}

interface AcceptorHandlers {
  /** A connection came; returns whether there is room for another. */
  open(socket: Socket<HttpConnection>): boolean;
  close(connection: HttpConnection): void;
  hasRoom(): boolean;
}

/**
 * Accepts connections, but no more in one turn of the event loop than `ACCEPTS_PER_TURN_MAX`, and
 * none while there is no room. Bun alone accepts as long as connections come, and a crowd that
 * comes back as soon as it is refused would let nothing else happen. Connections that are not
 * accepted wait in the kernel's queue. Bun can stop accepting only by closing its descriptor; the
 * queue belongs to the socket behind the descriptor, and stays.
 */
function createAcceptor(fd: number, visitors: AcceptorHandlers): { close(): void } {
  let listener: TCPSocketListener<HttpConnection> | undefined;
  let accepted = 0;
  let later: Timer | undefined;
  let isClosed = false;

  function open(): void {
    listener = Bun.listen<HttpConnection>({
      fd: duplicate(fd),
      // A client may close its side behind its last request.
      allowHalfOpen: true,
      socket: handlers,
    } as never);
  }

  function pause(): void {
    listener?.stop();
    listener = undefined;
  }

  function nextTurn(): void {
    accepted = 0;
    if (listener !== undefined || isClosed) return;
    try {
      if (visitors.hasRoom()) open();
    } catch {
      // The process has no descriptor left.
    }
    if (listener === undefined) later = setTimeout(nextTurn, FULL_MS);
  }

  const handlers = {
    open(socket: Socket<HttpConnection>) {
      if (accepted++ === 0) setImmediate(nextTurn);
      const hasRoom = visitors.open(socket);
      if (!hasRoom || accepted >= ACCEPTS_PER_TURN_MAX) pause();
    },
    data: (socket: Socket<HttpConnection>, chunk: Buffer) => socket.data.receive(chunk),
    drain: (socket: Socket<HttpConnection>) => socket.data.drained(),
    end: (socket: Socket<HttpConnection>) => socket.data.ended(),
    close(socket: Socket<HttpConnection>) {
      socket.data.closed();
      visitors.close(socket.data);
    },
    // A reset is a close too, which follows.
    error() {},
  };

  open();
  return {
    close() {
      isClosed = true;
      clearTimeout(later);
      pause();
      closeSync(fd);
    },
  };
}

const now = () => new Date().toUTCString();
