import type { Socket, TCPSocketListenOptions } from "bun";
import { HTTP_CONNECTIONS_MAX, IDLE_CONNECTION_SECONDS_MAX } from "../limits.ts";
import { Connection, type Shared } from "./connection.ts";

const SWEEP_MS = 1_000;
const STOP_POLL_MS = 5;

export interface HttpServerOptions extends Pick<Shared, "handle" | "refused"> {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Whether other processes may listen on the same port. */
  reusePort: boolean;
  /** When so many are open, a new one takes the place of one that waits for its client. */
  connectionsMax?: number;
}

export interface HttpServer {
  readonly port: number;
  /** How many are open. */
  connections(): number;
  /** Takes no more connections and waits for the answers that are owed. */
  stop(): Promise<void>;
}

/**
 * Serves HTTP/1.1 (and 1.0) without TLS over Bun's TCP sockets: requests of a head alone, since a
 * body is never read. A connection on which the client lets the server wait for a whole request,
 * or for its answer to be read, is closed after `IDLE_CONNECTION_SECONDS_MAX`. Throws what the
 * system says when it cannot listen.
 */
export function serveHttp(options: HttpServerOptions): HttpServer {
  const { host, port, reusePort, connectionsMax = HTTP_CONNECTIONS_MAX, ...handlers } = options;
  const connections = new Set<Connection>();
  const shared: Shared = {
    ...handlers,
    ...{ seconds: 0, date: now(), stopping: false, waitingBytes: 0 },
  };

  const listening: TCPSocketListenOptions<Connection> & { reusePort: boolean } = {
    ...{ hostname: host, port, reusePort },
    // A client may close its side behind its last request.
    allowHalfOpen: true,
    socket: {
      open(socket: Socket<Connection>) {
        socket.setNoDelay(true);
        const connection = new Connection(socket, shared);
        socket.data = connection;
        const isFull = connections.size >= connectionsMax;
        if (isFull && !connections.values().some((other) => other.expire(0))) socket.terminate();
        else connections.add(connection);
      },
      data: (socket, chunk) => socket.data.receive(chunk),
      drain: (socket) => socket.data.drained(),
      end: (socket) => socket.data.ended(),
      close(socket) {
        socket.data.closed();
        connections.delete(socket.data);
      },
      // A reset is a close too, which follows.
      error() {},
    },
  };
  const listener = Bun.listen(listening);

  const startedAt = performance.now();
  const sweep = setInterval(() => {
    shared.date = now();
    shared.seconds = Math.floor((performance.now() - startedAt) / 1_000);
    for (const connection of connections) connection.expire(IDLE_CONNECTION_SECONDS_MAX);
  }, SWEEP_MS);

  return {
    port: listener.port,
    connections: () => connections.size,
    async stop() {
      shared.stopping = true;
      listener.stop();
      for (const connection of connections) connection.stop();
      while (connections.values().some((connection) => connection.isBusy())) {
        await Bun.sleep(STOP_POLL_MS);
      }
      listener.stop(true);
      clearInterval(sweep);
    },
  };
}

const now = () => new Date().toUTCString();
