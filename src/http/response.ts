import { STATUS_CODES } from "node:http";

/** The request that a response is sent to, as far as the bytes depend on it. */
export interface ResponseContext {
  /** Time of the response as HTTP writes dates. */
  date: string;
  /** Whether the connection ends after this response. */
  isLast: boolean;
  /** Whether the request was a HEAD. */
  withoutBody: boolean;
}

/** A status, headers and a whole body; the same object may be sent any number of times. */
export class HttpResponse {
  readonly #head: string;
  readonly #body: Buffer;
  /** The encoded response at `#date`, which serves every request within that second. */
  #bytes: Buffer | undefined;
  #date = "";

  constructor(status: number, headers: Record<string, string>, body: string | Uint8Array = "") {
    this.#body = Buffer.from(body);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    // 204 has no body, and no length of one either (RFC 9110 §8.6).
    if (status !== 204) lines.push(`Content-Length: ${this.#body.length}\r\n`);
    this.#head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}`;
  }

  bytes({ date, isLast, withoutBody }: ResponseContext): Buffer {
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
