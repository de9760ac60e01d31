import { closeSync } from "node:fs";
import type { Socket } from "bun";
import type { TlsKeys } from "../../settings/files/tls-files.ts";
import {
  TLS_CONNECTIONS_MAX,
  TLS_HANDSHAKE_SECONDS_MAX,
  TLS_HANDSHAKES_MAX,
} from "../../settings/limits.ts";
import { duplicate, type ListeningSocket } from "../listening-socket.ts";
import { RelayedSocket } from "./relayed-socket.ts";

const SWEEP_MS = 1_000;
const LOOPBACK = "127.0.0.1";

interface TlsRelayOptions {
  /** Socket from which connections are accepted. The relay's `stop` closes it. */
  socket: ListeningSocket;
  /** Loopback port of the server without TLS, to which the relay passes the bytes on. */
  serverPort: number;
  tls: TlsKeys;
  /** Called when a client did not complete the TLS handshake. The connection is then closed. */
  onFailedHandshake(): void;
}

/**
 * A running relay: it accepts TLS connections, and passes the decrypted bytes on to a server
 * without TLS in the same process.
 */
export type TlsRelay = ReturnType<typeof relayTls>;

interface Client {
  handshakeSince: number;
  client: RelayedSocket;
  server: RelayedSocket;
  /** Local port of the relay's connection to the server; undefined until it is connected. */
  port?: number;
}

/**
 * Starts a TLS relay in front of a server of `Bun.serve`, because such a server can neither change
 * its certificate nor limit the time of a handshake.
 */
export function relayTls(options: TlsRelayOptions) {
  const { socket, serverPort, onFailedHandshake } = options;
  const clients = new Set<Client>();
  const handshakes = new Set<Client>();
  const addresses = new Map<number, string>();
  let listener = listen(options.tls);
  const sweep = setInterval(() => {
    const since = performance.now() - 1_000 * TLS_HANDSHAKE_SECONDS_MAX;
    // The set lists the oldest handshakes first.
    for (const it of handshakes) {
      if (it.handshakeSince > since) break;
      it.client.terminate();
    }
  }, SWEEP_MS);

  function listen(tls: TlsKeys) {
    return Bun.listen<Client>({
      fd: duplicate(socket.fd),
      allowHalfOpen: true,
      tls: { ...tls, ...(tls.ca !== undefined && { requestCert: true, rejectUnauthorized: true }) },
      socket: {
        open,
        handshake(it: Socket<Client>, isComplete: boolean) {
          const isTrusted = tls.ca === undefined || it.authorized;
          if (isComplete && isTrusted) connect(it.data, it.remoteAddress);
          else it.terminate();
        },
        data: (it: Socket<Client>, bytes: Buffer) => it.data.server.send(bytes, it.data.client),
        drain: (it: Socket<Client>) => it.data.client.drained(it.data.server),
        end: (it: Socket<Client>) => it.data.server.finish(),
        error() {},
        close: (it: Socket<Client>) => closed(it.data),
      },
    } as never);
  }

  function open(it: Socket<Client>): void {
    const [client, server] = [new RelayedSocket(), new RelayedSocket()];
    client.attach(it, server);
    it.data = { handshakeSince: performance.now(), client, server };
    if (clients.size >= TLS_CONNECTIONS_MAX) {
      it.terminate();
      return;
    }
    it.setNoDelay(true);
    clients.add(it.data);
    handshakes.add(it.data);
    const [oldest] = handshakes;
    if (handshakes.size > TLS_HANDSHAKES_MAX) oldest?.client.terminate();
  }

  function connect(pair: Client, address: string): void {
    handshakes.delete(pair);
    const connecting = Bun.connect({
      hostname: LOOPBACK,
      port: serverPort,
      allowHalfOpen: true,
      socket: {
        open(it) {
          it.setNoDelay(true);
          pair.port = it.localPort;
          addresses.set(it.localPort, address);
          pair.server.attach(it, pair.client);
        },
        data: (_, bytes) => pair.client.send(bytes, pair.server),
        drain: () => pair.server.drained(pair.client),
        end() {
          pair.client.finish();
          pair.client.closeLater();
        },
        error() {},
        close() {
          if (pair.port !== undefined) addresses.delete(pair.port);
          pair.client.close();
        },
      },
    });
    connecting.catch(() => pair.client.terminate());
  }

  function closed(pair: Client): void {
    clients.delete(pair);
    if (handshakes.delete(pair)) onFailedHandshake();
    pair.server.terminate();
  }

  return {
    /**
     * Returns the address of the client for a connection from the relay to the server; `port` is
     * the relay's local port of this connection. Returns undefined for a port that the relay does
     * not use.
     */
    clientAt: (port: number) => addresses.get(port),
    /** Changes certificate and key for new connections. Open connections keep theirs. */
    setTls(tls: TlsKeys) {
      const next = listen(tls);
      listener.stop();
      listener = next;
    },
    /**
     * Stops accepting connections. An open connection stays until the server behind the relay
     * closes it.
     */
    stop() {
      clearInterval(sweep);
      listener.stop();
      closeSync(socket.fd);
    },
  };
}
