import { FrameReader } from "../frame-reader.ts";

/**
 * A message of the PostgreSQL protocol 3.0. pixelmill implements the protocol itself, because any
 * member of a workspace may choose a hostile server, and the maintained client libraries do not
 * withstand one:
 *
 * - `postgres` ends the process at a short or unexpected message, and computes any number of SCRAM
 *   iterations on the main thread (30 million take 10 s).
 * - `pg` throws errors that cannot be caught.
 */
export interface PostgresMessage {
  /** Type of the message: one character, such as `R` or `1`. */
  type: string;
  body: Buffer;
}

/** Thrown when the server sent bytes that are not the PostgreSQL protocol. */
export class NotPostgres extends Error {
  override readonly name = "NotPostgres";

  constructor() {
    super("The server does not answer as PostgreSQL does");
  }
}

/**
 * Splits the bytes that a server sends into messages. Throws if a message has more than `bytesMax`
 * bytes.
 */
export class PostgresMessageReader {
  readonly #frames = new FrameReader((bytes) => {
    if (bytes.length < HEAD_BYTES) return undefined;
    const length = bytes.readUInt32BE(1);
    if (length < 4 || length > this.bytesMax) throw new NotPostgres();
    return 1 + length;
  });

  constructor(private readonly bytesMax: number) {}

  /** Adds received bytes, and yields each message that is now complete. */
  *read(piece: Buffer): Generator<PostgresMessage> {
    for (const frame of this.#frames.read(piece)) {
      yield { type: String.fromCharCode(frame[0]!), body: frame.subarray(HEAD_BYTES) };
    }
  }
}

/** Number of bytes before a message's body: 1 for its type (a letter), and 4 for its length. */
const HEAD_BYTES = 5;

/**
 * Reads a signed integer of 2 or 4 bytes at offset `at` of a message. Throws `NotPostgres` when the
 * message is too short.
 */
export function integerAt(body: Buffer, at: number, bytes: 2 | 4): number {
  if (body.length < at + bytes) throw new NotPostgres();
  return body.readIntBE(at, bytes);
}

/**
 * Parses an error message. The keys of the result are the one-letter field codes of the protocol,
 * such as `C` for the SQLSTATE.
 */
export function errorFields(body: Buffer): Map<string, string> {
  const fields = new Map<string, string>();
  for (const field of body.toString().split("\0")) {
    if (field.length > 1) fields.set(field[0]!, field.slice(1));
  }
  return fields;
}

/** Parses a row into its values: text or null. Throws `NotPostgres` if the row is too short. */
export function rowOf(body: Buffer): (string | null)[] {
  const row: (string | null)[] = [];
  let at = 2;
  for (let left = integerAt(body, 0, 2); left > 0; left--) {
    const length = integerAt(body, at, 4);
    at += 4;
    if (length > body.length - at) throw new NotPostgres();
    row.push(length < 0 ? null : body.toString("utf8", at, at + length));
    at += Math.max(length, 0);
  }
  return row;
}

export const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const sync = frame("S");
export const terminate = frame("X");

export function startup(parameters: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`);
  const body = Buffer.from(`\0\x03\0\0${pairs.join("")}\0`);
  return Buffer.concat([lengthOf([body]), body]);
}

export function password(text: string): Buffer {
  return frame("p", `${text}\0`);
}

export function saslInitial(mechanism: string, text: string): Buffer {
  const body = Buffer.from(text);
  return frame("p", `${mechanism}\0`, integer(body.length, 4), body);
}

export function saslResponse(text: string): Buffer {
  return frame("p", text);
}

/** Encodes the message that runs SQL statements without parameters. */
export function simpleQuery(sql: string): Buffer {
  return frame("Q", `${sql}\0`);
}

export type Statement = readonly [sql: string, ...parameters: string[]];

/** Encodes the messages that run statements in one transaction, with their parameters as text. */
export function query(...statements: Statement[]): Buffer {
  return Buffer.concat([...statements.flatMap(([sql, ...given]) => statement(sql, given)), sync]);
}

function statement(sql: string, parameters: readonly string[]): Buffer[] {
  const values = parameters.flatMap((parameter) => {
    const text = Buffer.from(parameter);
    return [integer(text.length, 4), text];
  });
  const none = "\0\0";
  return [
    ...frameParts("P", `\0${sql}\0`, none),
    ...frameParts("B", none, none, integer(parameters.length, 2), ...values, none),
    ...frameParts("E", "\0", integer(0, 4)),
  ];
}

function frame(type: string, ...parts: (string | Buffer)[]): Buffer {
  return Buffer.concat(frameParts(type, ...parts));
}

/**
 * Encodes a message as a list of buffers. To copy a long message only once, the caller joins the
 * buffers of all messages in one step.
 */
function frameParts(type: string, ...parts: (string | Buffer)[]): Buffer[] {
  const body = parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part));
  return [Buffer.from(type), lengthOf(body), ...body];
}

/** Encodes the length of a message. The length includes the 4 bytes of the length field. */
function lengthOf(body: readonly Buffer[]): Buffer {
  const length = body.reduce((sum, part) => sum + part.length, 4);
  return integer(length, 4);
}

/** Encodes an unsigned integer in 2 or 4 bytes. */
function integer(value: number, bytes: 2 | 4): Buffer {
  const encoded = Buffer.alloc(bytes);
  encoded.writeUIntBE(value, 0, bytes);
  return encoded;
}
