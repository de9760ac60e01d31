import type { Server } from "bun";
import type { ListeningSocket } from "../../http/listening-socket.ts";
import { relayTls, type TlsRelay } from "../../http/tls/relay.ts";
import type { TlsKeys } from "../../settings/files/tls-files.ts";

/**
 * The TLS side of the control plane. Without TLS, clients reach the server itself; with TLS, it
 * listens on the loopback address and a relay passes connections on to it.
 */
export class TlsListener {
  readonly #onFailedHandshake: () => void;
  #relay: TlsRelay | undefined;

  constructor(onFailedHandshake: () => void) {
    this.#onFailedHandshake = onFailedHandshake;
  }

  /** Accepts TLS connections from `socket`, and passes them on to the server at `serverPort`. */
  start(socket: ListeningSocket, serverPort: number, tls: TlsKeys): void {
    const onFailedHandshake = this.#onFailedHandshake;
    this.#relay = relayTls({ socket, serverPort, tls, onFailedHandshake });
  }

  setTls(tls: TlsKeys): void {
    this.#relay?.setTls(tls);
  }

  /**
   * Returns the address from which a request came. Undefined when it did not come through the TLS
   * relay but from another process of this machine; such a request is refused.
   */
  peerOf(request: Request, server: Server<unknown> | null): string | undefined {
    const peer = server?.requestIP(request);
    if (this.#relay === undefined) return peer?.address;
    return peer ? this.#relay.clientAt(peer.port) : undefined;
  }

  /** Whether a request did not come through the TLS relay, and so has no TLS. */
  isForeign(request: Request, server: Server<unknown> | null): boolean {
    return this.#relay !== undefined && this.peerOf(request, server) === undefined;
  }

  stop(): void {
    this.#relay?.stop();
  }
}
