import type { Socket } from "node:net";
import type * as Kafka from "@platformatic/kafka";
import { allowDecompression } from "./bounded-decompression.ts";
import { KafkaAnswerError } from "./bounded-reader.ts";

type KafkaLibrary = typeof Kafka;
type ReadAnswer<T> = (id: number, key: number, version: number, reader: Kafka.Reader) => T;

/** Longest answer of a broker of a cluster; a broker sends up to 55 MiB of records at once. */
const ANSWER_BYTES_MAX = 256 << 20;
/** Longest answer to a step of signing in. The library searches it in quadratic time. */
const SIGN_IN_ANSWER_BYTES_MAX = 2_048;

/** Keys of the requests whose answers need more checks than their reader makes. */
const SASL_AUTHENTICATE = 36;
const JOIN_GROUP = 11;
const SYNC_GROUP = 14;
const DESCRIBE_GROUPS = 15;

/**
 * Makes the library's connections read each answer by `readAnswer`, and end when the bytes are no
 * sequence of answers. Otherwise an exception of the library would end the process.
 */
export function boundConnections(kafka: KafkaLibrary): void {
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
 * Wraps a decoder of the library. The wrapped one throws the library's `ResponseError` for an
 * answer with an error code, and `KafkaAnswerError` for bytes that are no valid answer.
 */
export function boundedAnswer<T>(kafka: KafkaLibrary, read: ReadAnswer<T>): ReadAnswer<T> {
  return (id, key, version, reader) => {
    const { buffer, remaining } = reader;
    if (key === SASL_AUTHENTICATE && remaining > SIGN_IN_ANSWER_BYTES_MAX) {
      throw new KafkaAnswerError(`Expected at most ${SIGN_IN_ANSWER_BYTES_MAX} bytes of sign-in`);
    }
    allowDecompression(remaining);
    // Each read of a buffer in pieces searches its piece.
    const whole = buffer.buffers.length > 1 ? kafka.Reader.from(buffer.buffer) : reader;
    const { stackTraceLimit } = Error;
    // The library makes an error for each error code: 40,000 took 400 ms, and 160 ms without stacks.
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
 * Decodes what members of a group wrote about themselves. The library does so in a callback, where
 * an exception leaves its request without an end.
 */
function expectMembers(kafka: KafkaLibrary, key: number, answer: unknown): void {
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

/** Checks the lengths of answers before the library sees their bytes. */
function boundSocket({ socket }: Pick<Kafka.Connection, "socket">): void {
  if (socket === undefined || bounded.has(socket)) return;
  bounded.add(socket);
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean;
  const lengths = new AnswerLengths();
  const emitBounded = (event: string | symbol, ...args: unknown[]) => {
    if (event !== "data") return emit(event, ...args);
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

/** Follows the lengths in a sequence of answers. Throws `KafkaAnswerError` for an impossible one. */
export class AnswerLengths {
  /** Bytes that are left of the answer whose length was read last. */
  #left = 0;
  /** Bytes of the next length that have come, and their value. */
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
      // An answer begins with the number of its request.
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
