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
  /** The body as received, never decompressed. */
  body: Uint8Array;
}

/** The HTTP part of a request. */
export interface HttpRequest {
  method: string;
  /** Headers of the request; those in `reservedHeaders` are refused. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /** Bytes of the response body that are read; a longer body is cut and its connection closed. */
  answerBytesMax: number;
  /**
   * Whether the receiver may get the request twice. Such a request is sent again when an idle
   * connection turns out to be closed, since the receiver may or may not have read it.
   */
  isRepeatable: boolean;
}

/** One attempt at a request. */
export interface HttpAttempt extends HttpRequest {
  target: URL;
  deadline: Deadline;
}

/** An attempt with the bytes to send. */
interface PreparedRequest {
  attempt: HttpAttempt;
  /** Key of the idle connections that the attempt may use. */
  key: string;
  /** The method in capitals. */
  method: string;
  bytes: readonly Uint8Array[];
}

export interface HttpClient {
  /** Sends a request to an endpoint and resolves with the response, whatever its status. */
  send(endpoint: Endpoint, attempt: HttpAttempt): Promise<EgressResponse>;
  close(): void;
}

/** Error codes of a connection that the peer has closed. */
const closed = new Set(["ECONNRESET", "EPIPE"]);

/** Longest body that is copied behind its head; a longer one is written separately. */
const copiedBytesMax = 64 << 10;

/**
 * Makes an HTTP/1.1 client. `fetch` obeys `HTTP_PROXY`, cannot connect to a given address, and allows
 * 256 concurrent requests in the whole process, so that a few dead receivers would stop all others;
 * node:http costs three times the CPU. Idle connections are kept by address and TLS name, so that
 * each leads to a checked address. `idleMax`: most idle connections, if fewer than
 * `EGRESS_IDLE_CONNECTIONS_MAX`.
 */
export function createHttpClient(idleMax: number): HttpClient {
  const idle = new IdleConnections(idleMax);
  const busy = new Set<ReceiverConnection>();

  /**
   * Sends a request over this connection, and keeps the connection for the next request if
   * possible. Resolves with undefined when an idle connection turns out to be closed.
   */
  async function sendOver(
    connection: ReceiverConnection,
    { key, method, bytes, attempt }: PreparedRequest,
  ) {
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
      const response = kept && (await sendOver(kept, ready));
      if (response !== undefined) return response;
      attempt.deadline.throwIfOver();
      // Only an idle connection can turn out to be closed: a new one gives a response or an error.
      return (await sendOver(new ReceiverConnection(endpoint), ready))!;
    },
    close() {
      idle.close();
      for (const connection of busy) connection.destroy(new Error("The server is closing"));
    },
  };
}

/** The head and the body as buffers; a small body shares one with the head, for one system call. */
function bytesOf(method: string, { target, headers, body }: HttpAttempt): Uint8Array[] {
  const head = requestHead({ method, target, headers, bodyBytes: body.byteLength });
  if (body.byteLength > copiedBytesMax) return [Buffer.from(head, "latin1"), body];
  const whole = Buffer.allocUnsafe(head.length + body.byteLength);
  whole.write(head, "latin1");
  whole.set(body, head.length);
  return [whole];
}

/** Time for which the receiver keeps idle connections, less a second for its FIN to arrive. */
export function keepMs(keepAlive = ""): number | undefined {
  const seconds = /\btimeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? undefined : (Number(seconds) - 1) * 1_000;
}
