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

/** The members of a request that callers give, apart from its URL and the kind of connection. */
export interface HttpRequest {
  /**
   * The workspace (tenant) that makes the request. Its requests in progress and DNS resolutions are
   * limited. Workspaces never share a connection.
   */
  workspaceId: string;
  method: string;
  /** Request headers. A request with a header in `reservedHeaders` is refused. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /**
   * Whether the buffer of `body` has `REQUEST_HEAD_ROOM_BYTES` unused bytes before the body, into
   * which the request's head may be written.
   */
  hasHeadRoom?: boolean;
  /**
   * Number of bytes of the response body that are read. A longer body is cut off, and its
   * connection is closed.
   */
  answerBytesMax: number;
  /**
   * Whether the receiver may get the request twice. If so, a request that was sent on an idle
   * connection which the receiver closed is sent again on a new one. The receiver may have read it
   * before.
   */
  isRepeatable: boolean;
}

/** A request with its target and its time limit. `method` is in capital letters. */
interface HttpAttempt extends HttpRequest {
  target: Target;
  deadline: Deadline;
}

/** Error codes of a request that was sent over a connection which the peer had already closed. */
const closed = new Set(["ECONNRESET", "EPIPE"]);

/**
 * Methods with which every receiver reads the request body. With another method, some receivers
 * leave the body unread and then parse it as the next request, so the connection is closed after
 * such a request.
 */
const withBody = new Set(["POST", "PUT", "PATCH"]);

/**
 * Maximum size in bytes of a body that is copied into one buffer with the request head. A larger
 * body is written by itself.
 */
const copiedBytesMax = 64 << 10;

/** Unused bytes before a body with `hasHeadRoom`. The request head is written there if it fits. */
export const REQUEST_HEAD_ROOM_BYTES = 1_024;

/**
 * Creates an HTTP/1.1 client. It keeps at most `idleMax` idle connections, and never more than
 * `EGRESS_IDLE_CONNECTIONS_MAX`. A kept connection is used again only for the same workspace,
 * address and TLS host name. Every connection therefore leads to a checked address, and bytes of
 * one workspace never reach a request of another.
 *
 * The alternatives do not fit: `fetch` obeys `HTTP_PROXY`, cannot connect to a given address, and
 * allows 256 requests at a time in the whole process, so that a few receivers that do not respond
 * would stop all others. node:http takes three times the CPU.
 */
export function createHttpClient(idleMax: number) {
  const idle = new IdleConnections(idleMax);
  const busy = new Set<ReceiverConnection>();
  const forget = (connection: ReceiverConnection) => idle.forget(connection);

  /**
   * Sends a request over `connection`, and then keeps the connection for another request if
   * possible. Resolves with undefined when the caller may send the request again: the connection
   * was kept from an earlier request, the receiver has closed it, and the request may be repeated.
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
 * Encodes a request. Returns head and body in one buffer, which is written with one system call, or
 * in two buffers when the body is large.
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
 * Returns the milliseconds for which a connection may be kept idle, from the response's
 * `Keep-Alive` header; undefined when the header has no timeout. This is one second less than the
 * timeout, because the receiver's FIN needs time to arrive, but at least half of the timeout.
 */
export function keepMs(keepAlive = ""): number | undefined {
  const seconds = /\btimeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? undefined : Math.max(+seconds - 1, +seconds / 2) * 1_000;
}
