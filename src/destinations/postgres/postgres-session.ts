import type { Socket } from "node:net";
import { assert } from "../../assert.ts";
import { cutText } from "../../errors.ts";
import { ANSWER_BODY_BYTES_MAX, DATABASE_ANSWER_BYTES_MAX } from "../limits.ts";
import {
  errorFields,
  type PostgresMessage,
  PostgresMessageReader,
  rowOf,
  startup,
  terminate,
} from "./protocol.ts";
import { type PostgresCredentials, PostgresSignIn } from "./sign-in.ts";

/** Error that the PostgreSQL server sent. `message` is the start of the server's message. */
export class PostgresError extends Error {
  override readonly name = "PostgresError";
  /** The error's SQLSTATE code. */
  readonly code: string;
  readonly column: string | undefined;
  readonly constraint: string | undefined;
  /** The server's message, with its detail and its hint on further lines. */
  readonly text: string;

  constructor(fields: ReadonlyMap<string, string>) {
    super(cutText(fields.get("M") ?? "The database failed", MESSAGE_CHARS_MAX));
    this.code = fields.get("C") ?? "";
    this.column = fields.get("c");
    this.constraint = fields.get("n");
    const lines = [fields.get("M"), fields.get("D"), fields.get("H")];
    this.text = lines
      .map((line) => line && cutText(line, ANSWER_BODY_BYTES_MAX))
      .filter(Boolean)
      .join("\n");
  }
}

/** Thrown when the connection was closed before the response was complete. */
export class SessionLost extends Error {
  override readonly name = "SessionLost";
}

const MESSAGE_CHARS_MAX = 300;

export type ResultRow = (string | null)[];

interface PendingQuery extends PromiseWithResolvers<ResultRow[]> {
  rows: ResultRow[];
  /** Number of bytes of the response that may still arrive. More bytes close the connection. */
  bytesLeft: number;
  error: PostgresError | undefined;
}

/** An authenticated connection to PostgreSQL, which runs one query at a time. */
export class PostgresSession {
  readonly #messages = new PostgresMessageReader(DATABASE_ANSWER_BYTES_MAX);
  #signIn: PostgresSignIn | undefined;
  /**
   * Settles when all sign-in messages received so far are handled. Messages are handled one after
   * the other, which can take long because another thread computes the proof of the password.
   */
  #handled: Promise<unknown> = Promise.resolve();
  #pending: PendingQuery | undefined;
  isOpen = true;
  readonly #closed = new AbortController();

  private constructor(private readonly socket: Socket) {
    socket.on("data", (piece: Buffer) => this.#receive(piece));
    socket.once("close", () => this.destroy(new SessionLost("The database ended the connection")));
  }

  /** Signs in over a new connection. The session owns `socket` from this call on, and closes it. */
  static async open(
    socket: Socket,
    account: PostgresCredentials & { database: string },
    isSecure: boolean,
  ): Promise<PostgresSession> {
    const session = new PostgresSession(socket);
    session.#signIn = new PostgresSignIn(account, isSecure);
    const { user, database } = account;
    const names = { client_encoding: "UTF8", application_name: "pixelmill" };
    await session.run(startup({ user, database, ...names }));
    return session;
  }

  /** Closes the connection at once. The query that is running, if any, rejects with `error`. */
  destroy(error: unknown): void {
    this.isOpen = false;
    this.#closed.abort(error);
    this.socket.destroy();
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.reject(error);
  }

  /** Ends the session: sends a Terminate message and closes the connection. */
  close(): void {
    this.isOpen = false;
    this.socket.end(terminate, () => this.socket.destroy());
  }

  /**
   * Sends messages, such as those that `query` returns. Resolves with the rows of all statements,
   * or rejects with the first error.
   */
  async run(messages: Buffer): Promise<ResultRow[]> {
    assert(this.#pending === undefined, "A session carries one query at a time");
    if (!this.isOpen) throw new SessionLost("The connection is closed");
    const answered = Promise.withResolvers<ResultRow[]>();
    this.#pending = {
      ...answered,
      rows: [],
      bytesLeft: DATABASE_ANSWER_BYTES_MAX,
      error: undefined,
    };
    this.socket.write(messages);
    return await answered.promise;
  }

  #receive(piece: Buffer): void {
    // A message that arrives without a running query is a notice, or announces a shutdown. A
    // response with too many bytes is treated as no valid response.
    const pending = this.#pending;
    if (pending !== undefined) pending.bytesLeft -= piece.length;
    if (pending === undefined || pending.bytesLeft < 0) {
      this.#fail();
      return;
    }
    try {
      for (const message of this.#messages.read(piece)) {
        if (this.#signIn === undefined) this.#handle(message);
        else
          this.#handled = this.#handled
            .then(() => this.#handleSignIn(message))
            .catch((e) => this.destroy(e));
      }
    } catch (error) {
      this.destroy(error);
    }
  }

  #fail(): void {
    this.destroy(new SessionLost("The database sent an unexpected message"));
  }

  /**
   * Handles a message that arrived during the sign-in. If a message before it has completed the
   * sign-in meanwhile, handles it like any later message.
   */
  async #handleSignIn(message: PostgresMessage): Promise<void> {
    const signIn = this.#signIn;
    if (signIn === undefined || signIn.isDone || message.type !== "R") return this.#handle(message);
    const response = await signIn.respond(message, this.#closed.signal);
    if (response !== undefined && this.isOpen) this.socket.write(response);
  }

  #handle({ type, body }: PostgresMessage): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    if (type === "D") pending.rows.push(rowOf(body));
    else if (type === "E") this.#refused(pending, new PostgresError(errorFields(body)));
    else if (type === "Z") this.#complete(pending);
    else if (!ignoredTypes.has(type)) this.#fail();
  }

  #refused(pending: PendingQuery, error: PostgresError): void {
    pending.error ??= error;
    // After an error during signing in, or an error that ends the session, the server sends no
    // further message.
    const isLast = this.#signIn !== undefined || /^(08|57P0)/.test(error.code);
    if (isLast) this.destroy(error);
  }

  #complete({ error, rows, resolve, reject }: PendingQuery): void {
    if (this.#signIn !== undefined && !this.#signIn.isDone) {
      this.#fail();
      return;
    }
    this.#signIn = undefined;
    this.#pending = undefined;
    if (error === undefined) resolve(rows);
    else reject(error);
  }
}

/**
 * Types of messages in a response that are ignored: parameter status, backend key data, notice,
 * parse complete, bind complete, command complete, empty query, row description and no data.
 */
const ignoredTypes = new Set([..."SKN12CTnI"]);
