import { STATUS_CODES } from "node:http";

/**
 * A response with status, headers and a complete body. The same object may be sent many times, so
 * the bytes of the body must not be changed.
 */
export class HttpResponse {
  readonly status: number;
  readonly #head: string;
  readonly #body: Uint8Array;
  /**
   * The encoded response whose `Date` header is `#date`; undefined at first. Reused for all
   * requests of the same second, except HEAD requests and the last request of a connection.
   */
  #bytes: Buffer | undefined;
  #date = "";

  constructor(status: number, headers: Record<string, string>, body: string | Uint8Array = "") {
    this.status = status;
    this.#body = typeof body === "string" ? Buffer.from(body) : body;
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    // A 204 response has no body and no `Content-Length` header (RFC 9110 §8.6).
    if (status !== 204) lines.push(`Content-Length: ${this.#body.length}\r\n`);
    this.#head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}`;
  }

  /**
   * Returns the encoded response.
   * - `date`: current time in the format of the `Date` header.
   * - `isLast`: whether the connection is closed after this response.
   * - `withoutBody`: whether to leave out the body, as for the method HEAD.
   */
  bytes(date: string, isLast: boolean, withoutBody: boolean): Buffer {
    if (isLast || withoutBody) return this.#encode(date, isLast, withoutBody);
    if (this.#bytes === undefined || this.#date !== date) {
      this.#bytes = this.#encode(date, false, false);
      this.#date = date;
    }
    return this.#bytes;
  }

  #encode(date: string, isLast: boolean, withoutBody: boolean): Buffer {
    const end = isLast ? "Connection: close\r\n\r\n" : "\r\n";
    const head = Buffer.from(`${this.#head}Date: ${date}\r\n${end}`, "latin1");
    return withoutBody ? head : Buffer.concat([head, this.#body]);
  }
}
