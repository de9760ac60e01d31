import { assert } from "../assert.ts";

/**
 * Decodes a body in the chunked transfer coding (RFC 9112 §7.1) that is received in pieces. Throws
 * when a size or a line end is malformed. Skips chunk extensions and trailers.
 */
export class ChunkedDecoder {
  #state: ChunkState = "size";
  /** Number of bytes of the current chunk that were not received yet. */
  #left = 0;
  #digits = 0;
  /** Received part of chunk extensions or of a trailer, while their line is incomplete. */
  #text = "";
  /** Number of bytes that the trailers may still have. Further bytes are an error. */
  #trailersLeft: number;

  /** Creates a decoder that accepts trailers of at most `trailersMax` bytes in total. */
  constructor(trailersMax: number) {
    this.#trailersLeft = trailersMax;
  }

  /**
   * Decodes a received piece, and calls `onData` with each part of the body until `onData` returns
   * false. Returns the offset in `piece` after the end of the body; undefined if the end was not
   * reached.
   */
  read(piece: Buffer, onData: (data: Buffer) => boolean): number | undefined {
    for (let at = 0; at < piece.length; ) {
      if (this.#state === "data") {
        const data = piece.subarray(at, at + this.#left);
        at += data.length;
        this.#left -= data.length;
        assert(this.#left >= 0, "The remaining bytes of a chunk are never negative");
        if (this.#left === 0) this.#state = "dataCr";
        if (!onData(data)) return undefined;
        continue;
      }
      this.#state = this.#next(piece[at++]!);
      if (this.#state === "done") return at;
    }
    return undefined;
  }

  /** Processes one byte that is not data of a chunk, and returns the decoder's next state. */
  #next(byte: number): ChunkState {
    switch (this.#state) {
      case "size":
        if (byte === CR && this.#digits > 0) return "sizeLf";
        if (byte === SEMICOLON && this.#digits > 0) return this.#extend(byte);
        return this.#digit(byte);
      case "extension":
        return byte === CR ? this.#end(extensions, "sizeLf") : this.#extend(byte);
      case "sizeLf":
        expectByte(byte, LF);
        this.#digits = 0;
        return this.#left === 0 ? "trailers" : "data";
      case "dataCr":
        expectByte(byte, CR);
        return "dataLf";
      case "dataLf":
        expectByte(byte, LF);
        return "size";
      case "trailers":
        if (byte === CR) return "lastLf";
        return this.#trail(byte);
      case "trailer":
        return byte === CR ? this.#end(trailer, "trailerLf") : this.#trail(byte);
      case "trailerLf":
        expectByte(byte, LF);
        return "trailers";
      case "lastLf":
        expectByte(byte, LF);
        return "done";
      default:
        throw notChunked();
    }
  }

  #digit(byte: number): ChunkState {
    const value = Number.parseInt(String.fromCharCode(byte), 16);
    if (Number.isNaN(value) || ++this.#digits > SIZE_DIGITS_MAX) throw notChunked();
    this.#left = this.#left * 16 + value;
    return "size";
  }

  #extend(byte: number): ChunkState {
    this.#text += String.fromCharCode(byte);
    if (this.#text.length > EXTENSIONS_BYTES_MAX) throw notChunked();
    return "extension";
  }

  #trail(byte: number): ChunkState {
    this.#text += String.fromCharCode(byte);
    if (--this.#trailersLeft < 0) throw notChunked();
    return "trailer";
  }

  #end(form: RegExp, next: ChunkState): ChunkState {
    if (!form.test(this.#text)) throw notChunked();
    this.#text = "";
    return next;
  }
}

const trailer = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;
/**
 * Matches the extensions of a chunk size. Each has a name and an optional value, which may be
 * quoted (RFC 9112 §7.1.1).
 */
const extensions =
  /^(;[!#$%&'*+.^_`|~0-9A-Za-z-]+(=([!#$%&'*+.^_`|~0-9A-Za-z-]+|"([\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)+$/;

type ChunkState =
  | "size"
  | "extension"
  | "sizeLf"
  | "data"
  | "dataCr"
  | "dataLf"
  | "trailers"
  | "trailer"
  | "trailerLf"
  | "lastLf"
  | "done";

const LF = 0x0a;
const CR = 0x0d;
const SEMICOLON = 0x3b;
const SIZE_DIGITS_MAX = 12;
const EXTENSIONS_BYTES_MAX = 256;

const notChunked = () => new Error("Expected a body in chunks");

function expectByte(byte: number, expected: number): void {
  if (byte !== expected) throw notChunked();
}
