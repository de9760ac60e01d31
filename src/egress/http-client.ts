import { codeOf } from "../errors.ts";
import type { Deadline } from "./deadline.ts";
import { IdleConnections } from "./idle-connections.ts";
import { ConnectionClosed, ReceiverConnection } from "./receiver-connection.ts";
import { requestHead } from "./request-head.ts";
import { ResponseReader } from "./response-reader.ts";
import type { Endpoint } from "./socket.ts";

export interface EgressResponse {
  status: number;
  /** Names in lower case; values of a repeated name are joined with commas. */
  headers: Readonly<Record<string, string>>;
  /** The body as the receiver sent it: never decompressed. */
  body: Uint8Array;
}

/** A request on its way; `EgressRequest` says what its parts mean. */
export interface HttpAttempt {
  target: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  answerBytesMax: number;
  isRepeatable: boolean;
  deadline: Deadline;
}

/** An attempt in the form in which it is sent. */
interface PreparedRequest {
  attempt: HttpAttempt;
  /** The key of the connections that the attempt may use. */
  key: string;
  /** The method in capitals. */
  method: string;
  bytes: readonly Uint8Array[];
}

export interface HttpClient {
  /** Asks at a checked address. Any status is an answer. */
  send(endpoint: Endpoint, attempt: HttpAttempt): Promise<EgressResponse>;
  close(): void;
}

/** Errors of a connection that the other side has closed. */
const closed = new Set(["ECONNRESET", "EPIPE"]);

/** A longer body is written behind its head instead of being copied together with it. */
const copiedBytesMax = 64 << 10;

/**
 * A client of our own. `fetch` obeys `HTTP_PROXY`, cannot be told the address, and has at most 256
 * requests under way in the whole process, so that a few dead receivers would stop all others;
 * node:http costs three times as much. Connections are kept by address and TLS name, so that a kept
 * connection always leads to a checked address. `idleMax` is the most idle connections that are
 * kept, if fewer than `EGRESS_IDLE_CONNECTIONS_MAX`.
 */
export function createHttpClient(idleMax: number): HttpClient {
  const idle = new IdleConnections(idleMax);
  const busy = new Set<ReceiverConnection>();

  /**
   * Sends a request over this connection, and keeps the connection for the next request if
   * possible. Undefined when a kept connection turns out to be closed.
   */
  async function ask(
    connection: ReceiverConnection,
    { key, method, bytes, attempt }: PreparedRequest,
  ) {
    const reader = new ResponseReader(method, attempt.answerBytesMax);
    busy.add(connection);
    attempt.deadline.onEnd((reason) => connection.destroy(reason));
    try {
      await connection.ask(bytes, reader);
    } catch (error) {
      const isClosed = error instanceof ConnectionClosed || closed.has(codeOf(error));
      const isLost = connection.isUsed && isClosed && !reader.hasBegun;
      if (isLost && attempt.isRepeatable) return undefined;
      throw error;
    } finally {
      busy.delete(connection);
    }
    if (connection.isOpen) idle.keep(key, connection, keepMs(reader.headers["keep-alive"]));
    return { status: reader.status, headers: reader.headers, body: reader.body };
  }

  return {
    async send(endpoint, attempt) {
      const { address, port, tlsHost = "", ca = "" } = endpoint;
      const key = `${address} ${port} ${tlsHost} ${ca}`;
      const method = attempt.method.toUpperCase();
      const ready = { key, method, bytes: bytesOf(method, attempt), attempt };
      const kept = endpoint.onStage ? undefined : idle.take(key);
      const answer = kept && (await ask(kept, ready));
      if (answer !== undefined) return answer;
      attempt.deadline.throwIfOver();
      // A new connection is never undefined: only kept ones can turn out to be closed.
      return (await ask(new ReceiverConnection(endpoint), ready))!;
    },
    close() {
      idle.close();
      for (const connection of busy) connection.destroy(new Error("The server is closing"));
    },
  };
}

/** A small body goes out with its head, in one system call. */
function bytesOf(method: string, { target, headers, body }: HttpAttempt): Uint8Array[] {
  const head = requestHead({ method, target, headers, bodyBytes: body.byteLength });
  if (body.byteLength > copiedBytesMax) return [Buffer.from(head, "latin1"), body];
  const whole = Buffer.allocUnsafe(head.length + body.byteLength);
  whole.write(head, "latin1");
  whole.set(body, head.length);
  return [whole];
}

/**
 * How long the receiver keeps its idle connections, less a second, since its closing takes time to
 * arrive.
 */
export function keepMs(keepAlive = ""): number | undefined {
  const seconds = /\btimeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? undefined : (Number(seconds) - 1) * 1_000;
}
