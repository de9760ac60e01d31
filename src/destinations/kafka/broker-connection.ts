import type { Socket } from "node:net";
import type { Connection } from "@platformatic/kafka";
import { boundedAnswer } from "../../kafka/bounded-connections.ts";
import type { KafkaProtocol } from "../../kafka/library.ts";
import { FrameReader } from "../frame-reader.ts";
import { DATABASE_ANSWER_BYTES_MAX } from "../limits.ts";
import { type BrokerAddress, brokerFailure, KafkaFailure } from "./failures.ts";

/**
 * Kafka requests that a connection can send. Each is sent in the newest version that both the
 * client library and the broker support.
 */
interface Requests {
  metadata: KafkaProtocol["metadataV12"]["api"];
  initProducerId: KafkaProtocol["initProducerIdV5"]["api"];
  produce: KafkaProtocol["produceV11"]["api"];
}

/** Parameters of `Connection.send`, by which the client library sends a request. */
type Sent = Parameters<Connection["send"]>;

interface Request {
  key: Sent[0];
  version: Sent[1];
  make: Sent[2];
  read: Sent[3];
  hasTags: Sent[4];
  answerHasTags: Sent[5];
  done: Sent[6];
}

const VERSION_MAX = 20;
const CLIENT_ID = "pixelmill";

/**
 * Connection to a Kafka broker that sends the client library's requests over a given socket. The
 * library's own connections would bypass the egress guard, which restricts addresses, and would
 * buffer answers of any size.
 */
export class BrokerConnection {
  /**
   * Time of `performance.now()` after which the connection gets no further request, because the
   * broker ends the authenticated session soon afterwards.
   */
  expiresAt = Number.POSITIVE_INFINITY;
  /** Callback that is called once, when the connection ends. */
  onEnd: () => void = () => {};
  readonly #waiting = new Map<number, Request & { timer: Timer }>();
  readonly #versions = new Map<string, { min: number; max: number }>();
  #lastId = 0;
  readonly #frames = new FrameReader(frameLength);
  #answers = 0;
  #ended: unknown;

  constructor(
    readonly kafka: KafkaProtocol,
    private readonly socket: Socket,
    private readonly address: BrokerAddress,
    private readonly requestMs: number,
  ) {
    socket.on("data", (piece: Buffer) => this.#receive(piece));
    socket.once("close", () => this.destroy(lost(this.#answers)));
  }

  get isOpen(): boolean {
    return this.#ended === undefined && performance.now() < this.expiresAt;
  }

  /** Asks the broker which versions of each request it supports. This needs no authentication. */
  async negotiateVersions(): Promise<void> {
    const { apiVersionsV1 } = this.kafka;
    const { apiKeys } = await apiVersionsV1.api.async(this.asLibraryConnection, CLIENT_ID, "1");
    for (const { name, minVersion: min, maxVersion: max } of apiKeys) {
      this.#versions.set(name, { min, max });
    }
  }

  /**
   * Sends a request by calling `ask` with this connection and with the client library's function
   * for the newest version that the broker supports too. Rejects with `ResponseError` if the answer
   * contains an error code, and with `KafkaFailure` for other errors.
   */
  async exchange<Name extends keyof Requests, T>(
    name: Name,
    ask: (api: Requests[Name], over: Connection) => Promise<T>,
  ): Promise<T> {
    const api = this.newestVersion<Requests[Name]>(name);
    return await ask(api, this.asLibraryConnection).catch((error) => {
      throw error instanceof this.kafka.ResponseError ? error : brokerFailure(this.address, error);
    });
  }

  /**
   * Returns the client library's function for the newest version of a request that both the broker
   * and the library support. Throws `KafkaFailure` when there is no such version.
   */
  newestVersion<T = Requests["metadata"]>(name: string): T {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    const { min, max } = this.#versions.get(title) ?? { min: 0, max: -1 };
    for (let version = Math.min(max, VERSION_MAX); version >= min; version--) {
      const found = this.kafka[`${name}V${version}` as "metadataV12"];
      if (found !== undefined) return found.api as T;
    }
    throw new KafkaFailure("later", `The broker's versions of ${title} are not supported`);
  }

  /**
   * This object, typed as a connection of the client library. The library only calls `send` on it.
   */
  get asLibraryConnection(): Connection {
    return this as unknown as Connection;
  }

  /**
   * Sends a request. The client library calls this method. `done` is the callback that gets the
   * decoded answer.
   */
  send(...[key, version, make, read, hasTags, answerHasTags, done]: Sent): void {
    const request = { key, version, make, read, hasTags, answerHasTags, done };
    void this.#send(request).catch(done);
  }

  /** Closes the connection at once. Requests that wait for an answer fail with `reason`. */
  destroy(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.socket.destroy();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { timer, done } of waiting) {
      clearTimeout(timer);
      done(reason as Error);
    }
    this.onEnd();
  }

  async #send(request: Request): Promise<void> {
    const { key, version, make, hasTags } = request;
    const body = await make();
    if (this.#ended !== undefined) throw this.#ended;
    this.#lastId = (this.#lastId + 1) & 0x7fffffff;
    const id = this.#lastId;
    const writer = this.kafka.Writer.create()
      .appendInt16(key)
      .appendInt16(version)
      .appendInt32(id)
      .appendString(CLIENT_ID, false);
    if (hasTags) writer.appendTaggedFields();
    writer.appendFrom(body).prependLength();
    const timer = setTimeout(() => this.destroy(silent(this.requestMs)), this.requestMs);
    this.#waiting.set(id, { ...request, timer });
    this.socket.write(writer.buffer);
  }

  #receive(piece: Buffer): void {
    try {
      for (const frame of this.#frames.read(piece)) this.#take(frame.subarray(LENGTH_BYTES));
    } catch (error) {
      this.destroy(error);
    }
  }

  #take(frame: Buffer): void {
    const id = frame.readInt32BE(0);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) throw noBroker();
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    this.#answers += 1;
    const { key, version, read, answerHasTags, done } = waiting;
    let answer: unknown;
    try {
      const start = LENGTH_BYTES + (answerHasTags ? 1 : 0);
      const reader = this.kafka.Reader.from(frame.subarray(start));
      answer = boundedAnswer(this.kafka, read)(id, key, version, reader);
    } catch (error) {
      // The library throws `ResponseError` for an error code, and other errors for bad bytes.
      const isTold = error instanceof this.kafka.ResponseError;
      done(isTold ? error : noBroker());
      if (!isTold) throw noBroker();
      return;
    }
    done(null, answer);
  }
}

const LENGTH_BYTES = 4;

/**
 * Returns the length of the answer at the start of `bytes`, including its 4-byte length field, or
 * undefined while the field is incomplete. Throws if the field's value is below 4 or above
 * `DATABASE_ANSWER_BYTES_MAX`.
 */
function frameLength(bytes: Buffer): number | undefined {
  if (bytes.length < LENGTH_BYTES) return undefined;
  const length = bytes.readInt32BE(0);
  if (length < LENGTH_BYTES || length > DATABASE_ANSWER_BYTES_MAX) {
    throw bytes[0] === TLS_ALERT && bytes[1] === 3 ? wantsTls() : noBroker();
  }
  return LENGTH_BYTES + length;
}

/** First byte of a TLS alert, with which a TLS broker answers an unencrypted request. */
const TLS_ALERT = 0x15;

/**
 * Creates the failure of a connection that the broker closed after `answers` answers. After exactly
 * one, the message suggests that a user is required, because a broker that requires one answers
 * only the first request.
 */
const lost = (answers: number) =>
  answers === 1
    ? new KafkaFailure("later", "The broker closed the connection; it may require a user")
    : new KafkaFailure("soon", "The broker closed the connection");
const silent = (ms: number) => new KafkaFailure("soon", `No answer of the broker within ${ms} ms`);
const wantsTls = () => new KafkaFailure("later", "The broker requires TLS; set `tls` to `verify`");
const noBroker = () =>
  new KafkaFailure("later", "The server does not answer as a Kafka broker does");
