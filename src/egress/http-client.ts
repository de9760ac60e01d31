import { codeOf } from "../errors.ts";
import type { Deadline } from "./deadline.ts";
import { IdleConnections } from "./idle-connections.ts";
import { ConnectionClosed, ReceiverConnection } from "./receiver-connection.ts";
import { requestHead } from "./request-head.ts";
import { ResponseReader } from "./response-reader.ts";
import type { Endpoint } from "./socket.ts";
import type { Target } from "./target.ts";

export interface EgressResponse {
  status: number;
  /**
   * Response headers by name in lower case. The values of a repeated header are joined with commas.
   */
  headers: Readonly<Record<string, string>>;
  /** The body as received. A compressed body is not decompressed. */
  body: Uint8Array;
}

/**
 * The members of a request that callers of `Egress` set, except the URL and the settings of the
 * connection.
 */
export interface HttpRequest {
  /**
   * The workspace (tenant) that makes the request. It has a limited number of requests in progress
   * and of DNS resolutions. Workspaces never share a connection.
   */
  workspaceId: string;
  method: string;
  /** Request headers. A request with a header in `reservedHeaders` is refused. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /**
   * Whether `REQUEST_HEAD_ROOM_BYTES` bytes before `body` in its buffer are unused. The request's
   * head may then be written there, so that `body` need not be copied.
   */
  hasHeadRoom?: boolean;
  /**
   * Maximum number of bytes of the response body that are read. A longer body is cut off, and its
   * connection is closed.
   */
  answerBytesMax: number;
  /**
   * Whether the client may send the request again if the receiver closes a reused connection before
   * the response begins. The receiver may then read the request twice. If false, the request fails
   * in this case.
   */
  isRepeatable: boolean;
}

/** A request with its target and its time limit. `method` is in capital letters. */
interface HttpAttempt extends HttpRequest {
  target: Target;
  deadline: Deadline;
}

/** Error codes of a request that was sent on a connection after the peer had closed it. */
const closed = new Set(["ECONNRESET", "EPIPE"]);

/**
 * HTTP methods for which every receiver reads the request body. After a request with a body and
 * another method, the client closes the connection, because the receiver may parse an unread body
 * as the next request.
 */
const withBody = new Set(["POST", "PUT", "PATCH"]);

/**
 * Maximum size in bytes of a body that is copied into one buffer with the request head. A larger
 * body is written by itself.
 */
const copiedBytesMax = 64 << 10;

/**
 * Number of bytes that a caller with `hasHeadRoom` leaves free before the body, in the same buffer.
 * The request head is written there if it fits.
 */
export const REQUEST_HEAD_ROOM_BYTES = 1_024;

/**
 * Creates an HTTP/1.1 client with at most `idleMax` idle connections, and never more than
 * `EGRESS_IDLE_CONNECTIONS_MAX`. A connection is reused only for the same workspace, address, port,
 * TLS host name and certificate authorities, so that no bytes of one workspace reach another.
 *
 * Written by hand, because `fetch` obeys `HTTP_PROXY`, cannot connect to a given address and allows
 * only 256 concurrent requests, and node:http takes three times the CPU time.
 */
export function createHttpClient(idleMax: number) {
  const idle = new IdleConnections(idleMax);
  const busy = new Set<ReceiverConnection>();
  const forget = (connection: ReceiverConnection) => idle.forget(connection);

  /**
   * Sends a request over `connection`, and then keeps the connection for reuse if possible.
   * Resolves with undefined if the receiver had closed a reused connection and the request may be
   * sent again on a new one.
   */
  async function sendOver(
    connection: ReceiverConnection,
    attempt: HttpAttempt,
    bytes: readonly Uint8Array[],
  ) {
    const { method } = attempt;
    const reader = new ResponseReader(method, attempt.answerBytesMax);
    busy.add(connection);
    attempt.deadline.onEnd((reason) => connection.destroy(reason));
    try {
      await connection.send(bytes, reader);
    } catch (error) {
      const isClosed = error instanceof ConnectionClosed || closed.has(codeOf(error));
      const isLost = connection.isUsed && isClosed && !reader.hasBegun;
      if (isLost && attempt.isRepeatable) return undefined;
      throw error;
    } finally {
      busy.delete(connection);
    }
    const isBodyRead = attempt.body.byteLength === 0 || withBody.has(method);
    if (!isBodyRead) connection.destroy();
    if (connection.isOpen) idle.keep(connection, keepMs(reader.headers["keep-alive"]));
    return { status: reader.status, headers: reader.headers, body: reader.body };
  }

  return {
    /** Sends a request to an endpoint. Resolves with the response, whatever its status. */
    async send(endpoint: Endpoint, attempt: HttpAttempt) {
      const { address, port, tlsHost = "", ca } = endpoint;
      const key = `${attempt.workspaceId} ${address} ${port} ${tlsHost}`;
      const bytes = bytesOf(attempt);
      const kept = endpoint.onStage ? undefined : idle.take(key, ca);
      const response = kept && (await sendOver(kept, attempt, bytes));
      if (response !== undefined) return response;
      attempt.deadline.throwIfOver();
      // A new connection gives a response or an error. Only a connection that was idle can give
      // undefined.
      return (await sendOver(new ReceiverConnection(endpoint, key, forget), attempt, bytes))!;
    },
    close() {
      idle.close();
      for (const connection of busy) connection.destroy(new Error("The server is closing"));
    },
  };
}

/**
 * Encodes a request as one buffer with head and body, which is written with one system call. A
 * large body is in a second buffer.
 */
function bytesOf(attempt: HttpAttempt): Uint8Array[] {
  const { method, target, headers, body, hasHeadRoom = false } = attempt;
  const head = requestHead({ method, target, headers, bodyBytes: body.byteLength });
  if (hasHeadRoom && head.length <= REQUEST_HEAD_ROOM_BYTES) {
    const start = body.byteOffset - head.length;
    const whole = Buffer.from(body.buffer, start, head.length + body.byteLength);
    whole.write(head, "latin1");
    return [whole];
  }
  if (body.byteLength > copiedBytesMax) return [Buffer.from(head, "latin1"), body];
  const whole = Buffer.allocUnsafe(head.length + body.byteLength);
  whole.write(head, "latin1");
  whole.set(body, head.length);
  return [whole];
}

/**
 * Returns the milliseconds for which a connection may stay idle by the timeout in `Keep-Alive`;
 * undefined if there is none. One second (half of a timeout below 2 s) is subtracted, because the
 * receiver's FIN takes time to arrive.
 */
export function keepMs(keepAlive = ""): number | undefined {
  const seconds = /\btimeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? undefined : Math.max(+seconds - 1, +seconds / 2) * 1_000;
}
