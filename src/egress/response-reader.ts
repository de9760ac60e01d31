import { ChunkedDecoder } from "./chunked-decoder.ts";
import { EGRESS_HEAD_BYTES_MAX } from "./limits.ts";

const nothing = Buffer.alloc(0);
const headStart = Buffer.from("HTTP/1.");
const headEnd = Buffer.from("\r\n\r\n");
const statusLine = /HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/y;
const headerLine = /([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*)\r\n/y;

const notHttp = () => new Error("Expected an answer of HTTP/1.1");

/**
 * States of the reader:
 * - head: reads the status line and headers, perhaps those of an interim answer;
 * - length, chunks, close: reads a body that ends after its length, with its last chunk, or with
 *   the connection.
 */
type ResponseState = "head" | "length" | "chunks" | "close" | "done";

/**
 * Reads one answer (RFC 9112) from pieces as they come. Strict where parsers disagree: no bare CR
 * or LF, no folded lines, no space before a colon, one length or `chunked` alone, never both.
 */
export class ResponseReader {
  status = 0;
  /** Names in lower case; values of a repeated name are joined with commas. */
  headers: Record<string, string> = {};
  /** Whether any byte came. */
  hasBegun = false;
  /** Whether the connection may carry another request. */
  isReusable = false;
  readonly #isHead: boolean;
  readonly #bytesMax: number;
  #state: ResponseState = "head";
  #head: Buffer | undefined;
  /** Bytes of the heads that were read; interim answers count too, and trailers. */
  #headBytes = 0;
  /** Bytes of the body that are still to come, in state `length`. */
  #left = 0;
  #chunks: ChunkedDecoder | undefined;
  #body: Buffer = nothing;
  #bodyBytes = 0;

  /** `method` that was asked with; of the body at most `bytesMax` are kept. */
  constructor(method: string, bytesMax: number) {
    this.#isHead = method === "HEAD";
    this.#bytesMax = bytesMax;
  }

  get body(): Uint8Array {
    return this.#body.subarray(0, this.#bodyBytes);
  }

  /**
   * Takes the next piece, whose memory then belongs to the reader; returns whether the answer is
   * complete. Throws when the bytes are no answer.
   */
  push(piece: Buffer): boolean {
    this.hasBegun = true;
    let rest: Buffer | undefined = piece;
    while (this.#state === "head" && rest !== undefined) rest = this.#readHead(rest);
    if (rest !== undefined && this.#state !== "done") rest = this.#readBody(rest);
    if (this.#state !== "done") return false;
    // Bytes that nobody asked for must not be taken for the next answer.
    if (rest !== undefined && rest.length > 0) this.isReusable = false;
    return true;
  }

  /** The receiver has closed its side; returns whether the answer is complete with that. */
  end(): boolean {
    if (this.#state === "close") this.#state = "done";
    return this.#state === "done";
  }

  /** Reads a head once all of it has come; returns what follows the head. */
  #readHead(piece: Buffer): Buffer | undefined {
    const known = this.#head?.length ?? 0;
    const head = this.#head === undefined ? piece : Buffer.concat([this.#head, piece]);
    const end = head.indexOf(headEnd, Math.max(0, known - 3));
    const bytes = this.#headBytes + (end < 0 ? head.length : end + headEnd.length);
    if (bytes > EGRESS_HEAD_BYTES_MAX) {
      throw new Error(`Expected a head of at most ${EGRESS_HEAD_BYTES_MAX} bytes`);
    }
    if (end < 0) {
      // A receiver that speaks another protocol may never send the end of a head.
      const begun = head.subarray(0, headStart.length);
      if (!headStart.subarray(0, begun.length).equals(begun)) throw notHttp();
      this.#head = head;
      return undefined;
    }
    this.#head = undefined;
    this.#headBytes = bytes;
    this.#take(head.toString("latin1", 0, end + 2));
    return head.subarray(end + headEnd.length);
  }

  /** `head` ends with its last line. */
  #take(head: string): void {
    statusLine.lastIndex = 0;
    const line = statusLine.exec(head);
    if (line === null) throw notHttp();
    this.status = Number(line[2]);
    this.headers = Object.create(null) as Record<string, string>;
    for (let at = statusLine.lastIndex; at < head.length; at = headerLine.lastIndex) {
      headerLine.lastIndex = at;
      const header = headerLine.exec(head);
      if (header === null) throw new Error("Expected a header line");
      const name = header[1]!.toLowerCase();
      const value = header[2]!.trimEnd();
      const before = this.headers[name];
      this.headers[name] = before === undefined ? value : `${before}, ${value}`;
    }
    if (this.status === 101) throw new Error("The receiver switched protocols");
    if (this.status >= 200) this.#frame(line[1] === "1");
  }

  /** Finds out how the body ends (RFC 9112 §6.3). */
  #frame(isNew: boolean): void {
    const { connection, "content-length": length, "transfer-encoding": coding } = this.headers;
    this.isReusable = isNew && !/(^|,)[\t ]*close[\t ]*(,|$)/i.test(connection ?? "");
    if (length !== undefined && !/^\d{1,15}$/.test(length)) {
      throw new Error("Expected one Content-Length in digits");
    }
    if (coding !== undefined) {
      if (length !== undefined) throw new Error("Expected Content-Length or Transfer-Encoding");
      if (!isNew || coding.toLowerCase() !== "chunked") {
        throw new Error("Expected no Transfer-Encoding but chunked");
      }
    }
    if (this.#isHead || this.status === 204 || this.status === 304 || length === "0") {
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

  /** Reads the part of the body in a piece; returns what follows the body, if anything does. */
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

  /** Keeps a part of the body; false when the answer ends here because no more of it is kept. */
  #keep(part: Buffer): boolean {
    const room = this.#bytesMax - this.#bodyBytes;
    if (part.length > room) {
      this.#state = "done";
      this.isReusable = false;
    }
    const kept = part.length > room ? part.subarray(0, room) : part;
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
    return part.length <= room;
  }
}
