import { assert } from "../assert.ts";
import {
  HTTP_HEAD_BYTES_MAX,
  HTTP_WAITING_BYTES_MAX,
  HTTP_WAITING_BYTES_PER_NETWORK_MAX,
} from "../settings/limits.ts";

/**
 * Number of bytes that all connections may buffer together before large requests are refused (those
 * with more than `HTTP_HEAD_BYTES_MAX` buffered bytes). This leaves a quarter of
 * `HTTP_WAITING_BYTES_MAX` to small requests, such as pixels.
 */
const LARGE_REQUESTS_BYTES_MAX = 0.75 * HTTP_WAITING_BYTES_MAX;

/** Counts the received bytes that connections keep in memory, in total and by client network. */
export class BufferedBytes {
  #all = 0;
  readonly #networks = new Map<string, number>();

  get all(): number {
    return this.#all;
  }

  /**
   * Adds `bytes` to the counts of buffered bytes; negative when a connection buffers fewer than
   * before. `network` is undefined for a trusted proxy: bytes of its many clients count only in
   * total.
   */
  add(network: string | undefined, bytes: number): void {
    this.#all += bytes;
    assert(this.#all >= 0, "Connections buffer no less than 0 bytes");
    if (network === undefined) return;
    const own = (this.#networks.get(network) ?? 0) + bytes;
    if (own > 0) this.#networks.set(network, own);
    else this.#networks.delete(network);
  }

  /**
   * Whether a connection that buffers `bytes` bytes must drop them, because too many bytes are
   * buffered by all connections together or by those of its network. The limit for all connections
   * is lower if `bytes` is large.
   */
  isOver(network: string | undefined, bytes: number): boolean {
    if (this.#all > HTTP_WAITING_BYTES_MAX) return true;
    if (bytes > HTTP_HEAD_BYTES_MAX && this.#all > LARGE_REQUESTS_BYTES_MAX) return true;
    const own = network === undefined ? 0 : (this.#networks.get(network) ?? 0);
    return own > HTTP_WAITING_BYTES_PER_NETWORK_MAX;
  }
}
