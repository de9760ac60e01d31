import { AnswerReader } from "./answer-reader.ts";
import { Connection, ConnectionClosed } from "./connection.ts";
import type { Deadline } from "./deadline.ts";
import { IdleConnections } from "./idle-connections.ts";
import { requestHead } from "./request-text.ts";
import type { Endpoint } from "./socket.ts";

export interface EgressAnswer {
  status: number;
  /** Names in lower case; values of a repeated name are joined with commas. */
  headers: Readonly<Record<string, string>>;
  /** As it came: never decompressed. */
  body: Uint8Array;
}

/** A request on its way; `EgressRequest` says what its parts mean. */
export interface Attempt {
  target: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  answerBytesMax: number;
  isRepeatable: boolean;
  deadline: Deadline;
}

/** An attempt in the form in which it goes out. */
interface Ready {
  attempt: Attempt;
  /** Of the connections that it may use. */
  key: string;
  /** In capitals. */
  method: string;
  bytes: readonly Uint8Array[];
}

export interface Client {
  /** Asks at a checked address. Any status is an answer. */
  send(endpoint: Endpoint, attempt: Attempt): Promise<EgressAnswer>;
  close(): void;
}

/** Errors of a connection that was closed by the other side. */
const closed = new Set(["ECONNRESET", "EPIPE"]);

/** A longer body is written by itself, behind its head, rather than copied. */
const copiedBytesMax = 64 << 10;

/**
 * A client of its own and not `fetch`, which obeys `HTTP_PROXY`, cannot be told the address and has
 * at most 256 requests under way in the whole process, so that a few dead receivers would stop all
 * others; nor node:http, which costs three times as much. Connections are kept by address and TLS
 * name: a kept connection leads to a checked address.
 */
/** `idleMax`: idle connections, if fewer than the limit. */
export function createClient(idleMax: number): Client {
  const idle = new IdleConnections(idleMax);
  const busy = new Set<Connection>();

  /**
   * Asks over this connection, which is kept for the next request if it can be. Undefined when it
   * had been kept and turns out to be closed.
   */
  async function ask(connection: Connection, { key, method, bytes, attempt }: Ready) {
    const reader = new AnswerReader(method, attempt.answerBytesMax);
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
      // A new connection is never one that had been kept.
      return (await ask(new Connection(endpoint), ready))!;
    },
    close() {
      idle.close();
      for (const connection of busy) connection.destroy(new Error("The server is closing"));
    },
  };
}

/** A small body goes out with its head, in one system call. */
function bytesOf(method: string, { target, headers, body }: Attempt): Uint8Array[] {
  const head = requestHead({ method, target, headers, bodyBytes: body.byteLength });
  if (body.byteLength > copiedBytesMax) return [Buffer.from(head, "latin1"), body];
  const whole = Buffer.allocUnsafe(head.length + body.byteLength);
  whole.write(head, "latin1");
  whole.set(body, head.length);
  return [whole];
}

/** How long the receiver keeps its side, and a second less: closing takes its time to arrive. */
export function keepMs(keepAlive = ""): number | undefined {
  const seconds = /\btimeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? undefined : (Number(seconds) - 1) * 1_000;
}

/** The code of an error of node:net, node:tls or node:dns. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
