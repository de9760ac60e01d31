/**
 * Takes the chunked transfer coding (RFC 9112 §7.1) off a body that comes in pieces. Sizes and line
 * ends are read strictly; extensions and trailers are skipped.
 */
export class Chunks {
  #state: State = "size";
  /** Bytes of the chunk that are still to come. */
  #left = 0;
  #digits = 0;
  /** Of the extensions of a size, or of all trailers. */
  #skipped = 0;
  readonly #trailersMax: number;

  /** `trailersMax`: bytes of all trailers. */
  constructor(trailersMax: number) {
    this.#trailersMax = trailersMax;
  }

  /**
   * Tells the data of the piece, until it is told that there is no use for more; returns where the
   * body ends in it, or undefined.
   */
  read(piece: Buffer, tell: (data: Buffer) => boolean): number | undefined {
    for (let at = 0; at < piece.length; ) {
      if (this.#state === "data") {
        const data = piece.subarray(at, at + this.#left);
        at += data.length;
        this.#left -= data.length;
        if (this.#left === 0) this.#state = "dataCr";
        if (!tell(data)) return undefined;
        continue;
      }
      this.#state = this.#next(piece[at++]!);
      if (this.#state === "done") return at;
    }
    return undefined;
  }

  /** The state behind this byte. */
  #next(byte: number): State {
    switch (this.#state) {
      case "size":
        if (byte === CR && this.#digits > 0) return "sizeLf";
        if (byte === SEMICOLON && this.#digits > 0) return "extension";
        return this.#digit(byte);
      case "extension":
        return byte === CR ? "sizeLf" : this.#skip(byte, EXTENSION_BYTES_MAX);
      case "sizeLf":
        expectByte(byte, LF);
        this.#digits = 0;
        this.#skipped = 0;
        return this.#left === 0 ? "trailers" : "data";
      case "dataCr":
        expectByte(byte, CR);
        return "dataLf";
      case "dataLf":
        expectByte(byte, LF);
        return "size";
      case "trailers":
        if (byte === CR) return "lastLf";
        this.#skip(byte, this.#trailersMax);
        return "trailer";
      case "trailer":
        return byte === CR ? "trailerLf" : this.#skip(byte, this.#trailersMax);
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

  #digit(byte: number): State {
    const value = Number.parseInt(String.fromCharCode(byte), 16);
    if (Number.isNaN(value) || ++this.#digits > SIZE_DIGITS_MAX) throw notChunked();
    this.#left = this.#left * 16 + value;
    return "size";
  }

  /** Passes over a byte of a text that is of no use here. */
  #skip(byte: number, bytesMax: number): State {
    const isText = byte === TAB || (byte >= SPACE && byte !== DELETE);
    if (!isText || ++this.#skipped > bytesMax) throw notChunked();
    return this.#state;
  }
}

type State =
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

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const SEMICOLON = 0x3b;
const DELETE = 0x7f;
const SIZE_DIGITS_MAX = 12;
const EXTENSION_BYTES_MAX = 256;

const notChunked = () => new Error("Expected a body in chunks");

function expectByte(byte: number, expected: number): void {
  if (byte !== expected) throw notChunked();
}
