import { assert } from "../assert.ts";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import { GrowingBuffer } from "./growing-buffer.ts";
import { EGRESS_HEAD_BYTES_MAX } from "./limits.ts";

const nothing = Buffer.alloc(0);
const headStart = Buffer.from("HTTP/1.");
const headEnd = Buffer.from("\r\n\r\n");
const statusLine = /HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/y;
const headerLine = /([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*)\r\n/y;

const notHttp = () => new Error("Expected a response of HTTP/1.1 or 1.0");

/**
 * The head (status line and headers) that was parsed last. It is reused for a head with the same
 * text, because a receiver's heads often differ only in `Date`, which changes once a second.
 */
let latest: ReturnType<typeof parseHead> | undefined;

/**
 * Parses the head of a response. `text` is the status line and the headers, up to the line break of
 * the last header. In the result, `isHttp11` is true for HTTP/1.1 and false for HTTP/1.0.
 */
function parseHead(text: string) {
  statusLine.lastIndex = 0;
  const line = statusLine.exec(text);
  if (line === null) throw notHttp();
  const headers: Record<string, string> = Object.create(null);
  for (let at = statusLine.lastIndex; at < text.length; at = headerLine.lastIndex) {
    headerLine.lastIndex = at;
    const header = headerLine.exec(text);
    if (header === null) throw new Error("Expected a header line");
    const name = header[1]!.toLowerCase();
    const value = header[2]!.trimEnd();
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return { text, status: Number(line[2]), headers, isHttp11: line[1] === "1" };
}

/**
 * State of a response reader.
 *
 * - head: it reads the status line and the headers, also those of an interim (1xx) response.
 * - length: it reads a body whose length is known.
 * - chunks: it reads a body in the chunked coding.
 * - close: it reads a body that ends when the connection is closed.
 * - done: the response is complete.
 */
type ResponseState = "head" | "length" | "chunks" | "close" | "done";

/**
 * Reads one HTTP response (RFC 9112) that is received in pieces. Refuses responses that different
 * parsers understand differently: those with a bare CR or LF, a folded line, a space before a
 * colon, two lengths, or both a length and the chunked coding.
 */
export class ResponseReader {
  status = 0;
  /** Headers by name in lower case. The values of a repeated header are joined with commas. */
  headers: Readonly<Record<string, string>> = {};
  /** Whether a byte of the response was received. */
  hasBegun = false;
  /** Whether the connection may carry another request after this response. */
  isReusable = false;
  readonly #isHead: boolean;
  readonly #bytesMax: number;
  #state: ResponseState = "head";
  readonly #head = new GrowingBuffer();
  /**
   * Number of bytes of status lines, headers and trailers received so far. Interim (1xx) responses
   * are included.
   */
  #headBytes = 0;
  /** In state `length`: number of bytes of the body that were not received yet. */
  #left = 0;
  #chunks: ChunkedDecoder | undefined;
  #body: Buffer = nothing;
  #bodyBytes = 0;

  /**
   * Creates a reader for the response to a request with `method`. `bytesMax` is the maximum number
   * of bytes of the body that are kept.
   */
  constructor(method: string, bytesMax: number) {
    this.#isHead = method === "HEAD";
    this.#bytesMax = bytesMax;
  }

  /** The received part of the body, at most `bytesMax` bytes. */
  get body(): Uint8Array {
    return this.#body.subarray(0, this.#bodyBytes);
  }

  /**
   * Reads a received piece and returns whether the response is complete. The caller must not change
   * the piece afterwards. Throws if the bytes are not a response of HTTP/1.1 or 1.0.
   */
  push(piece: Buffer): boolean {
    this.hasBegun = true;
    let rest: Buffer | undefined = piece;
    while (this.#state === "head" && rest !== undefined) rest = this.#readHead(rest);
    if (rest !== undefined && this.#state !== "done") rest = this.#readBody(rest);
    if (this.#state !== "done") return false;
    // Bytes after the response must not be read as the response to another request.
    if (rest !== undefined && rest.length > 0) this.isReusable = false;
    return true;
  }

  /**
   * Handles the end of the connection, which completes a response that does not state its length.
   * Returns whether the response is complete.
   */
  end(): boolean {
    if (this.#state === "close") this.#state = "done";
    return this.#state === "done";
  }

  /**
   * Collects and parses the head (status line and headers). Returns the bytes that follow it, or
   * undefined while it is incomplete.
   */
  #readHead(piece: Buffer): Buffer | undefined {
    const known = this.#head.length;
    const head = known === 0 ? piece : this.#head.append(piece);
    const end = head.indexOf(headEnd, Math.max(0, known - 3));
    const bytes = this.#headBytes + (end < 0 ? head.length : end + headEnd.length);
    if (bytes > EGRESS_HEAD_BYTES_MAX) {
      throw new Error(`Expected a head of at most ${EGRESS_HEAD_BYTES_MAX} bytes`);
    }
    if (end < 0) {
      // A receiver that speaks another protocol may never send the end of a head.
      const start = head.subarray(0, headStart.length);
      if (!headStart.subarray(0, start.length).equals(start)) throw notHttp();
      if (known === 0) this.#head.append(piece);
      return undefined;
    }
    this.#head.clear();
    this.#headBytes = bytes;
    this.#takeHead(head.toString("latin1", 0, end + 2));
    return head.subarray(end + headEnd.length);
  }

  /** Stores the status and the headers. `text` ends with the line break of the last header. */
  #takeHead(text: string): void {
    if (text !== latest?.text) latest = parseHead(text);
    const { status, headers, isHttp11 } = latest;
    this.status = status;
    this.headers = headers;
    if (status === 101) throw new Error("The receiver switched protocols");
    if (status >= 200) this.#chooseFraming(isHttp11);
  }

  /** Determines how the body ends (RFC 9112 §6.3). `isHttp11` means HTTP/1.1, not HTTP/1.0. */
  #chooseFraming(isHttp11: boolean): void {
    const { connection, "content-length": length, "transfer-encoding": coding } = this.headers;
    this.isReusable = isHttp11 && !/(^|,)[\t ]*close[\t ]*(,|$)/i.test(connection ?? "");
    if (length !== undefined && !/^\d{1,15}$/.test(length)) {
      throw new Error("Expected one Content-Length in digits");
    }
    if (coding !== undefined) {
      if (length !== undefined) throw new Error("Expected Content-Length or Transfer-Encoding");
      if (!isHttp11 || coding.toLowerCase() !== "chunked") {
        throw new Error("Expected no Transfer-Encoding but chunked");
      }
    }
    if (this.#isHead || this.status === 204 || this.status === 304) {
      this.#state = "done";
    } else if (coding !== undefined) {
      this.#state = "chunks";
      this.#chunks = new ChunkedDecoder(EGRESS_HEAD_BYTES_MAX - this.#headBytes);
    } else if (length !== undefined) {
      this.#left = Number(length);
      this.#state = this.#left === 0 ? "done" : "length";
    } else {
      this.#state = "close";
      this.isReusable = false;
    }
  }

  /**
   * Reads the bytes of `piece` that belong to the body. Returns the bytes after the body, or
   * undefined when the body continues.
   */
  #readBody(piece: Buffer): Buffer | undefined {
    if (this.#chunks !== undefined) {
      const end = this.#chunks.read(piece, (part) => this.#keep(part));
      if (end === undefined) return undefined;
      this.#state = "done";
      return piece.subarray(end);
    }
    const isMore = this.#state === "length" && piece.length > this.#left;
    const part = isMore ? piece.subarray(0, this.#left) : piece;
    if (this.#state === "length") {
      this.#left -= part.length;
      if (this.#left === 0) this.#state = "done";
    }
    this.#keep(part);
    return isMore ? piece.subarray(part.length) : undefined;
  }

  /**
   * Appends a part of the body to `body`. If the body would have more than `bytesMax` bytes, cuts
   * it off there, ends the response and returns false. Otherwise returns true.
   */
  #keep(part: Buffer): boolean {
    const room = this.#bytesMax - this.#bodyBytes;
    let kept = part;
    if (part.length > room) {
      this.#state = "done";
      this.isReusable = false;
      kept = part.subarray(0, room);
    }
    if (this.#bodyBytes === 0) {
      this.#body = kept;
    } else {
      const length = this.#bodyBytes + kept.length;
      if (length > this.#body.length) {
        const grown = Buffer.allocUnsafeSlow(Math.min(2 * length, this.#bytesMax));
        grown.set(this.#body.subarray(0, this.#bodyBytes));
        this.#body = grown;
      }
      this.#body.set(kept, this.#bodyBytes);
    }
    this.#bodyBytes += kept.length;
    assert(this.#bodyBytes <= this.#bytesMax, "A response body never exceeds its bound");
    return kept === part;
  }
}
