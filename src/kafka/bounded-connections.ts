import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type * as Kafka from "@platformatic/kafka";
import { allowDecompression } from "./bounded-decompression.ts";
import { KafkaAnswerError } from "./bounded-reader.ts";

/** Exports of the Kafka library that are needed to decode the brokers' responses. */
type Decoding = Pick<
  typeof Kafka,
  | "Reader"
  | "ResponseError"
  | "decodeConsumerProtocolAssignment"
  | "decodeConsumerProtocolSubscription"
>;
type ReadAnswer<T> = (id: number, key: number, version: number, reader: Kafka.Reader) => T;

/** Maximum size in bytes of one response of a broker. Responses with records have up to 55 MiB. */
const ANSWER_BYTES_MAX = 256 << 20;
/**
 * Maximum size in bytes of a response during sign-in (SASL). The Kafka library parses such a
 * response in quadratic time.
 */
const SIGN_IN_ANSWER_BYTES_MAX = 2_048;

/**
 * Number (API key) of the Kafka request for sign-in (SASL). The response to this request may have
 * at most `SIGN_IN_ANSWER_BYTES_MAX` bytes. The API keys below are those of requests about consumer
 * groups, whose responses `expectMembers` checks.
 */
const SASL_AUTHENTICATE = 36;
const JOIN_GROUP = 11;
const SYNC_GROUP = 14;
const DESCRIBE_GROUPS = 15;

/**
 * Makes connections of the Kafka library decode with `boundedAnswer`, and close after a response
 * with an impossible length, because invalid bytes from a broker would otherwise end the process.
 */
export function boundConnections(kafka: typeof Kafka): void {
  const { Connection } = kafka;
  const { connect, send } = Connection.prototype;
  function sendBounded(this: Kafka.Connection, ...args: Parameters<typeof send>): void {
    const [key, version, make, read, ...rest] = args;
    send.call(this, key, version, make, boundedAnswer(kafka, read), ...rest);
  }
  function connectBounded(this: Kafka.Connection, ...args: Parameters<typeof connect>) {
    const connecting = connect.apply(this, args);
    boundSocket(this);
    return connecting;
  }
  Object.assign(Connection.prototype, { send: sendBounded, connect: connectBounded });
}

/**
 * Wraps a response decoder of the Kafka library. The wrapper throws the library's `ResponseError`
 * for a response with an error code, and `KafkaAnswerError` for bytes that are no valid response.
 */
export function boundedAnswer<T>(kafka: Decoding, read: ReadAnswer<T>): ReadAnswer<T> {
  return (id, key, version, reader) => {
    const { buffer, remaining } = reader;
    if (key === SASL_AUTHENTICATE && remaining > SIGN_IN_ANSWER_BYTES_MAX) {
      throw new KafkaAnswerError(`Expected at most ${SIGN_IN_ANSWER_BYTES_MAX} bytes of sign-in`);
    }
    allowDecompression(remaining);
    // In a buffer that consists of several pieces, each read would first search for its piece.
    const whole = buffer.buffers.length > 1 ? kafka.Reader.from(buffer.buffer) : reader;
    const { stackTraceLimit } = Error;
    // The library makes an error for each error code: 40,000 took 400 ms, and 160 without stacks.
    Error.stackTraceLimit = 0;
    try {
      const answer = read(id, key, version, whole);
      expectMembers(kafka, key, answer);
      return answer;
    } catch (error) {
      if (error instanceof kafka.ResponseError || error instanceof KafkaAnswerError) throw error;
      throw new KafkaAnswerError("Expected a valid answer of the broker", { cause: error });
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}

interface Members {
  members?: { metadata: Buffer }[];
  assignment?: Buffer;
  groups?: { members: { memberMetadata: Buffer; memberAssignment: Buffer }[] }[];
}

/**
 * Throws if a response about a consumer group contains undecodable data of a group member. The
 * Kafka library decodes this data later, in a callback. An error there would leave the request
 * without a result.
 */
function expectMembers(kafka: Decoding, key: number, answer: unknown): void {
  if (key !== JOIN_GROUP && key !== SYNC_GROUP && key !== DESCRIBE_GROUPS) return;
  const { decodeConsumerProtocolAssignment, decodeConsumerProtocolSubscription } = kafka;
  const { members = [], assignment, groups = [] } = answer as Members;
  for (const { metadata } of members) decodeConsumerProtocolSubscription(metadata);
  if (assignment) decodeConsumerProtocolAssignment(assignment);
  for (const { memberMetadata, memberAssignment } of groups.flatMap((group) => group.members)) {
    if (memberMetadata.length === 0) continue;
    decodeConsumerProtocolSubscription(memberMetadata);
    decodeConsumerProtocolAssignment(memberAssignment);
  }
}

const bounded = new WeakSet<Socket>();

/**
 * Makes a socket check the lengths of responses before the Kafka library gets their bytes. Destroys
 * the socket at an impossible length.
 */
function boundSocket({ socket }: Pick<Kafka.Connection, "socket">): void {
  if (socket === undefined || bounded.has(socket)) return;
  bounded.add(socket);
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean;
  const lengths = new AnswerLengths();
  let isFirst = true;
  const emitBounded = (event: string | symbol, ...args: unknown[]) => {
    if (event !== "data") return emit(event, ...args);
    const mayLackTls = isFirst && !(socket instanceof TLSSocket);
    isFirst = false;
    // The library gets the alert, and reports that the broker expects TLS. A retry is useless then.
    if (mayLackTls && isTlsAlert(args[0] as Buffer)) {
      emit(event, ...args);
      socket.destroy();
      return true;
    }
    try {
      lengths.expect(args[0] as Buffer);
      return emit(event, ...args);
    } catch (error) {
      socket.destroy(error as Error);
      return true;
    }
  };
  Object.assign(socket, { emit: emitBounded });
}

/** Whether a broker's bytes are a TLS alert, which it sends if it expects TLS and gets none. */
function isTlsAlert(piece: Buffer): boolean {
  return piece[0] === 0x15 && piece[1] === 0x03;
}

/**
 * Reads the lengths of the responses in a stream of bytes. Throws `KafkaAnswerError` for an
 * impossible length.
 */
export class AnswerLengths {
  /** Number of bytes of the current response that have not arrived yet. */
  #left = 0;
  /**
   * Number of bytes of the next response's length field that have arrived. `#length` is the number
   * that these bytes encode so far, highest byte first.
   */
  #lengthBytes = 0;
  #length = 0;

  expect(piece: Buffer): void {
    for (let at = 0; at < piece.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, piece.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      this.#length = this.#length * 256 + piece[at++]!;
      if (++this.#lengthBytes < 4) continue;
      // A response begins with the number of its request, which has 4 bytes.
      if (this.#length < 4 || this.#length > ANSWER_BYTES_MAX) {
        throw new KafkaAnswerError(
          `Expected an answer of 4 to ${ANSWER_BYTES_MAX} bytes, got the length ${this.#length}`,
        );
      }
      this.#left = this.#length;
      this.#lengthBytes = this.#length = 0;
    }
  }
}
