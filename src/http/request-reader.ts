import { assert } from "../assert.ts";
import { HTTP_BODY_BYTES_MAX, HTTP_HEAD_BYTES_MAX } from "../settings/limits.ts";
import { Body, joinChunks } from "./body.ts";
import { classes, METHOD } from "./byte-classes.ts";
import { hasBareFeed, head, readHead } from "./head.ts";
import { InputBuffer } from "./input-buffer.ts";

/**
 * The empty line after a request head, as bytes. Searching for bytes is five times as fast as
 * searching for a string.
 */
const HEAD_END = Buffer.from("\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;
/**
 * Number of buffered bytes above which reading from the socket is paused. After the head of a
 * request with a body, the limit is `Body.requestBytesMax` instead, until the body is complete.
 */
const AHEAD_BYTES_MAX = HTTP_HEAD_BYTES_MAX + HTTP_BODY_BYTES_MAX;

/** Returned by `RequestReader.next` while the next request is incomplete. */
export const INCOMPLETE = -1;

/** Finds the requests in the bytes that one connection receives. */
export class RequestReader {
  readonly input = new InputBuffer();
  /**
   * State of the search for the end of the current request's body. Set when the head of the request
   * is complete, and unset when the body is complete. Stays set if the body is refused.
   */
  #body: Body | undefined;
  /**
   * Offsets of the start and the end of the last complete request's body. If the body is chunked,
   * the framing of its chunks lies between them too.
   */
  #bodyStart = 0;
  #bodyEnd = 0;

  /**
   * Creates a reader for one connection.
   * - `bodyBytesMax`: returns the maximum size in bytes of a body for the request's path.
   * - `onBody`: called when the head of a request with a body is complete. `expectsContinue` is
   *   whether the client must get `100 Continue` before it sends the body.
   */
  constructor(
    private readonly bodyBytesMax: (path: string) => number,
    private readonly onBody: (expectsContinue: boolean) => void,
  ) {}

  /**
   * Whether the head of the current request is complete, and its body is incomplete or was refused.
   */
  get isInBody(): boolean {
    return this.#body !== undefined;
  }

  /** Number of buffered bytes above which the connection must pause its socket. */
  get bytesMax(): number {
    return this.#body?.requestBytesMax ?? AHEAD_BYTES_MAX;
  }

  /** Adds received bytes. The reader takes over the buffer and may change it. */
  append(chunk: Buffer): void {
    this.input.append(chunk, this.#body?.requestBytesMax);
  }

  /**
   * Finds the next request. Returns 0 if it is complete, otherwise `INCOMPLETE` or the HTTP status
   * of the refusal. After 0, `input.at` is the end of the request, and `head` has its parsed head.
   */
  next(): number {
    if (this.#body !== undefined) return this.#findBodyEnd(this.#body);
    this.#skipEmptyLines();
    const { input } = this;
    const found = input.bytes.indexOf(HEAD_END, Math.max(input.at, input.searched));
    const end = found + HEAD_END.length;
    if (found < 0 || end > input.end) return this.#checkPartialHead();
    if (end - input.at > HTTP_HEAD_BYTES_MAX) return 431;
    const status = readHead(input.bytes, input.at, end);
    if (status !== 0) return status;
    if (head.bodyBytes === 0 && !head.isChunked) return this.#take(end, end);
    const length = head.isChunked ? undefined : head.bodyBytes;
    this.#body = new Body(end - input.at, length, this.bodyBytesMax(pathIn(input.bytes)));
    this.onBody(head.expectsContinue && end === input.end && this.#body.status === 0);
    return this.#findBodyEnd(this.#body);
  }

  /**
   * Returns the body of the last complete request as a view into the input, and removes the framing
   * of chunks. May be called only until `head` gets the head of another request.
   */
  body(): Buffer {
    const { bytes } = this.input;
    if (head.isChunked) {
      this.#bodyEnd = joinChunks(bytes, this.#bodyStart);
      head.isChunked = false;
    }
    return bytes.subarray(this.#bodyStart, this.#bodyEnd);
  }

  /**
   * Parses the head of the current request into `head` again, and returns true. If `isInBody` is
   * false, parses nothing and returns false.
   */
  readHeadAgain(): boolean {
    if (this.#body === undefined) return false;
    const { bytes, at } = this.input;
    return readHead(bytes, at, at + this.#body.headBytes) === 0;
  }

  /**
   * Searches for the end of the current request's body. Returns 0 if the body is complete,
   * otherwise `INCOMPLETE` or the HTTP status of the refusal.
   */
  #findBodyEnd(body: Body): number {
    const { bytes, at, end } = this.input;
    const length = body.find(bytes, at, end);
    if (body.status !== 0) return body.status;
    if (length === 0) return INCOMPLETE;
    this.#body = undefined;
    // The shared object `head` may meanwhile describe a request of another connection.
    readHead(bytes, at, at + body.headBytes);
    return this.#take(at + body.headBytes, at + length);
  }

  #take(bodyStart: number, end: number): 0 {
    assert(end <= this.input.end, "A request ends within the bytes that came");
    this.input.at = end;
    this.#bodyStart = bodyStart;
    this.#bodyEnd = end;
    return 0;
  }

  /** Skips the empty lines that some clients send after a body (RFC 9112 §2.2). */
  #skipEmptyLines(): void {
    const { input } = this;
    const { bytes } = input;
    while (bytes[input.at] === CR && input.at + 1 < input.end && bytes[input.at + 1] === LF) {
      input.at += 2;
    }
  }

  /**
   * Checks an incomplete head (request line and headers), which stays in the input. Returns 400 or
   * 431 when the bytes cannot become a valid head, otherwise `INCOMPLETE`.
   */
  #checkPartialHead(): number {
    const { bytes, at, end, searched, length } = this.input;
    if (length === 0) return INCOMPLETE;
    if (length > HTTP_HEAD_BYTES_MAX) return 431;
    const first = bytes[at]!;
    if (!(classes[first]! & METHOD) && !(first === CR && length === 1)) return 400;
    if (hasBareFeed(bytes, Math.max(at, searched), end)) return 400;
    this.input.searched = Math.max(at, end - HEAD_END.length + 1);
    return INCOMPLETE;
  }
}

/**
 * Returns the path of the request that `head` describes. `bytes` must be the bytes from which
 * `head` was parsed.
 */
export function pathIn(bytes: Buffer): string {
  return bytes.toString("latin1", head.pathStart, head.pathEnd) || "/";
}
