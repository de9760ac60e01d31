import type { Server } from "bun";
import type { ListeningSocket } from "../../http/listening-socket.ts";
import { relayTls, type TlsRelay } from "../../http/tls/relay.ts";
import type { TlsKeys } from "../../settings/files/tls-files.ts";

/**
 * TLS side of the control plane. Without TLS, clients connect to the HTTP server directly. With
 * TLS, the HTTP server listens on the loopback address. A relay then accepts the clients'
 * connections, decrypts the data and passes them on to the HTTP server.
 */
export class TlsListener {
  readonly #onFailedHandshake: () => void;
  #relay: TlsRelay | undefined;

  constructor(onFailedHandshake: () => void) {
    this.#onFailedHandshake = onFailedHandshake;
  }

  /** Passes TLS connections from `socket` on to the HTTP server at `serverPort` of loopback. */
  start(socket: ListeningSocket, serverPort: number, tls: TlsKeys): void {
    const onFailedHandshake = this.#onFailedHandshake;
    this.#relay = relayTls({ socket, serverPort, tls, onFailedHandshake });
  }

  setTls(tls: TlsKeys): void {
    this.#relay?.setTls(tls);
  }

  /**
   * Returns the address of the client that sent a request. Undefined if the control plane uses TLS
   * and the request did not come from the relay: another process of this machine sent it directly
   * to the HTTP server. The caller must refuse it.
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
