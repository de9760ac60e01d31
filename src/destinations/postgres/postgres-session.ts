import type { Socket } from "node:net";
import { DATABASE_ANSWER_BYTES_MAX } from "../limits.ts";
import {
  errorFields,
  type PostgresMessage,
  PostgresMessageReader,
  rowOf,
  startup,
  terminate,
} from "./protocol.ts";
import { type PostgresCredentials, PostgresSignIn } from "./sign-in.ts";

/** An error of PostgreSQL, in its own words. */
export class PostgresError extends Error {
  override readonly name = "PostgresError";
  /** SQLSTATE. */
  readonly code: string;
  readonly column: string | undefined;
  readonly constraint: string | undefined;

  constructor(fields: ReadonlyMap<string, string>) {
    super((fields.get("M") ?? "The database failed").slice(0, MESSAGE_CHARS_MAX));
    this.code = fields.get("C") ?? "";
    this.column = fields.get("c");
    this.constraint = fields.get("n");
  }
}

/** The connection ended before the answer was complete. */
export class SessionLost extends Error {
  override readonly name = "SessionLost";
}

const MESSAGE_CHARS_MAX = 300;

export type ResultRow = (string | null)[];

interface PendingQuery {
  rows: ResultRow[];
  /** Bytes that the answer may still take. */
  bytesLeft: number;
  error: PostgresError | undefined;
  resolve: (rows: ResultRow[]) => void;
  reject: (error: unknown) => void;
}

/** A connection that is signed in. It carries one exchange after the other. */
export class PostgresSession {
  /** Whether the session has answered a query. */
  isUsed = false;
  readonly #socket: Socket;
  readonly #frames = new PostgresMessageReader(DATABASE_ANSWER_BYTES_MAX);
  #signIn: PostgresSignIn | undefined;
  /**
   * The messages are taken in turn: answers for signing in are made in another thread, and what
   * comes meanwhile waits.
   */
  #turn: Promise<unknown> = Promise.resolve();
  #exchange: PendingQuery | undefined;
  #isOpen = true;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (piece: Buffer) => this.#receive(piece));
    socket.once("close", () => this.destroy(new SessionLost("The database ended the connection")));
  }

  /** Signs in over a fresh connection, which belongs to the session from then on. */
  static async open(
    socket: Socket,
    account: PostgresCredentials & { database: string },
    isSecure: boolean,
  ): Promise<PostgresSession> {
    const session = new PostgresSession(socket);
    session.#signIn = new PostgresSignIn(account, isSecure);
    const { user, database } = account;
    const names = { client_encoding: "UTF8", application_name: "pixelmill" };
    await session.#exchangeFor(startup({ user, database, ...names }));
    return session;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a query and resolves with the rows of all its answers; rejects with the error. */
  async run(query: Buffer): Promise<ResultRow[]> {
    return await this.#exchangeFor(query);
  }

  /** Ends the session at once; an exchange under way fails with the error. */
  destroy(error: unknown): void {
    this.#isOpen = false;
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.reject(error);
  }

  /** Ends the session in the protocol's way. */
  close(): void {
    this.#isOpen = false;
    this.#socket.end(terminate, () => this.#socket.destroy());
  }

  #exchangeFor(bytes: Buffer): Promise<ResultRow[]> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(new SessionLost("The connection is closed"));
      this.#exchange = {
        ...{ rows: [], bytesLeft: DATABASE_ANSWER_BYTES_MAX, error: undefined },
        ...{ resolve, reject },
      };
      this.#socket.write(bytes);
    });
  }

  #receive(piece: Buffer): void {
    // A message that no query asked for: a notice, or that the server is shutting down.
    const exchange = this.#exchange;
    if (exchange !== undefined) exchange.bytesLeft -= piece.length;
    if (exchange === undefined || exchange.bytesLeft < 0) {
      this.#fail();
      return;
    }
    try {
      for (const frame of this.#frames.read(piece)) {
        if (this.#signIn === undefined) this.#take(frame);
        else this.#turn = this.#turn.then(() => this.#greet(frame)).catch((e) => this.destroy(e));
      }
    } catch (error) {
      this.destroy(error);
    }
  }

  #fail(): void {
    this.destroy(new SessionLost("The database sent what nobody asked for"));
  }

  /** Takes a message while signing in is under way, or has just ended. */
  async #greet(frame: PostgresMessage): Promise<void> {
    const signIn = this.#signIn;
    if (signIn === undefined || signIn.isDone || frame.type !== "R") return this.#take(frame);
    const answer = await signIn.answer(frame);
    if (answer !== undefined && this.#isOpen) this.#socket.write(answer);
  }

  #take({ type, body }: PostgresMessage): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    if (type === "D") exchange.rows.push(rowOf(body));
    else if (type === "E") this.#refused(exchange, new PostgresError(errorFields(body)));
    else if (type === "Z") this.#answered(exchange);
    else if (!harmless.has(type)) this.#fail();
  }

  #refused(exchange: PendingQuery, error: PostgresError): void {
    exchange.error ??= error;
    // After an error of signing in, or one that ends the session, the server says no more.
    const isLast = this.#signIn !== undefined || /^(08|57P0)/.test(error.code);
    if (isLast) this.destroy(error);
  }

  #answered({ error, rows, resolve, reject }: PendingQuery): void {
    if (this.#signIn !== undefined && !this.#signIn.isDone) {
      this.#fail();
      return;
    }
    this.#signIn = undefined;
    this.#exchange = undefined;
    this.isUsed = true;
    if (error === undefined) resolve(rows);
    else reject(error);
  }
}

/**
 * Messages that are part of an answer and say nothing that matters: parameter status, key of the
 * backend, notice, parse and bind complete, command complete, row description, no data.
 */
const harmless = new Set([..."SKN12CTnI"]);
