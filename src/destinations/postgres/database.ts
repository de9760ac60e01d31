import type { Socket } from "node:net";
import { Deadline } from "../../egress/deadline.ts";
import type { Egress, OnStage } from "../../egress/egress.ts";
import { DATABASE_IDLE_MS_MAX, DATABASE_TIMEOUT_MS_DEFAULT } from "../limits.ts";
import type { ScramDerivations, ScramKeys } from "../scram-keys.ts";
import type { NewColumns, TableColumn } from "../tables/column-values.ts";
import type { TableConnection } from "../tables/open-tables.ts";
import {
  DatabaseFailure,
  type ExistingTable,
  TABLE_MARK,
  type TableLoad,
} from "../tables/table-database.ts";
import type { PostgresConfig } from "./config.ts";
import { failureOf } from "./failures.ts";
import { PostgresSession, type ResultRow, SessionLost } from "./postgres-session.ts";
import { NotPostgres, query, type Statement, simpleQuery, sslRequest } from "./protocol.ts";
import * as sql from "./sql.ts";

/**
 * Maximum milliseconds that a statement waits for the lock of a table. Beyond this time it fails,
 * and the delivery is retried later. The limit is short because an ALTER TABLE that waits for the
 * lock blocks all readers.
 */
const LOCK_MS_MAX = 5_000;

/**
 * A PostgreSQL server, accessed over one connection, which is opened at first use and closed after
 * `DATABASE_IDLE_MS_MAX` milliseconds without use. A caller must wait for each call to settle
 * before the next.
 */
export class PostgresDatabase implements TableConnection {
  readonly #scramKeys: ScramKeys;
  readonly #schema: string;
  readonly #timeoutMs: number;
  readonly #settings: string;
  #session: PostgresSession | undefined;
  #deadline: Deadline | undefined;
  #idle: Timer | undefined;

  constructor(
    private readonly config: PostgresConfig,
    private readonly workspaceId: string,
    private readonly egress: Egress,
    derivations: ScramDerivations,
  ) {
    this.#scramKeys = derivations.keysOf(workspaceId);
    this.#schema = config.schema ?? "public";
    this.#timeoutMs = config.timeoutMs ?? DATABASE_TIMEOUT_MS_DEFAULT;
    this.#settings = sql.transactionSettings(this.#timeoutMs, LOCK_MS_MAX);
  }

  /**
   * Runs `work`, which makes the database calls of one delivery. These calls fail when the
   * delivery's timeout ends or `signal` is aborted.
   */
  async within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    this.#deadline = new Deadline(this.#timeoutMs, signal);
    try {
      this.#deadline.throwIfOver();
      return await work();
    } finally {
      this.#deadline.clear();
      this.#idle = setTimeout(() => this.close(), DATABASE_IDLE_MS_MAX).unref();
    }
  }

  async describe(table: string): Promise<ExistingTable | undefined> {
    const rows = await this.#run([sql.tableQuery, this.#schema, table, TABLE_MARK]);
    const [first] = rows;
    if (first === undefined) return undefined;
    const columns = rows.flatMap(([name, type, isReadOnly]): [string, TableColumn][] =>
      name ? [[name, sql.columnOf(type ?? "", isReadOnly === "t")]] : [],
    );
    return { columns: new Map(columns), isMarked: first[3] === "t", hasOwnKey: first[4] === "t" };
  }

  async countTables(): Promise<number> {
    const [row] = await this.#run([sql.tableCountQuery, this.#schema]);
    return Number(row?.[0] ?? 0);
  }

  async createTable(table: string, key: string, columns: NewColumns): Promise<void> {
    const schemas = await this.#run([sql.schemaQuery, this.#schema]);
    if (schemas.length === 0) {
      await this.#create([`create schema if not exists ${sql.quoted(this.#schema)}`]);
    }
    await this.#create(
      [sql.createTable(this.#qualified(table), key, columns)],
      [sql.markTable(this.#qualified(table), TABLE_MARK)],
    );
  }

  async addColumns(table: string, columns: NewColumns): Promise<void> {
    await this.#run([sql.addColumns(this.#qualified(table), columns)]);
  }

  async insert(loads: readonly TableLoad[], key: string): Promise<void> {
    const statements = loads.map((load): Statement => {
      return [sql.insertRows(this.#qualified(load.table), load, key), JSON.stringify(load.records)];
    });
    await this.#run(...statements);
  }

  /** Tests the connection: creates a table, writes a row to it, and rolls both back. */
  async testWrite(): Promise<void> {
    const schemas = await this.#run([sql.schemaQuery, this.#schema]);
    const text = sql.testStatements(this.#schema, schemas.length > 0, this.#settings);
    await this.#send(simpleQuery(text)).catch(rethrow);
  }

  #qualified(table: string): string {
    return sql.qualified(this.#schema, table);
  }

  /** Opens the connection and signs in, unless the connection is already open. */
  async signIn(onStage: OnStage): Promise<void> {
    this.#session ??= await this.#open(onStage).catch(rethrow);
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#session?.close();
    this.#session = undefined;
  }

  /**
   * Runs statements that create a schema or table, in one transaction. An error which says that the
   * schema or table exists already is ignored.
   */
  async #create(...statements: Statement[]): Promise<void> {
    await this.#run(...statements).catch((error) => {
      if (!(error instanceof DatabaseFailure && alreadyExists.has(error.code ?? ""))) throw error;
    });
  }

  /** Runs statements in one transaction. Returns all their rows, in the order of statements. */
  async #run(...statements: Statement[]): Promise<ResultRow[]> {
    const messages = query([this.#settings], ...statements);
    const [, ...rows] = await this.#send(messages).catch(rethrow);
    return rows;
  }

  async #send(messages: Buffer): Promise<ResultRow[]> {
    const idle = this.#session?.isOpen ? this.#session : undefined;
    this.#session = idle ?? (await this.#open());
    try {
      return await this.#sendOver(this.#session, messages);
    } catch (error) {
      // The server may have closed an idle connection unnoticed. Sending a statement a second time
      // is harmless for every statement here.
      if (idle === undefined || !(error instanceof SessionLost)) throw error;
      this.#deadline!.throwIfOver();
      this.#session = await this.#open();
      return await this.#sendOver(this.#session, messages);
    }
  }

  async #sendOver(session: PostgresSession, messages: Buffer): Promise<ResultRow[]> {
    const deadline = this.#deadline!;
    deadline.awaited = "complete answer of the database";
    deadline.onEnd((reason) => session.destroy(reason));
    return await session.run(messages);
  }

  async #open(onStage?: OnStage): Promise<PostgresSession> {
    const deadline = this.#deadline!;
    const { host, port = 5432, tls = "verify", tlsCa, tlsServerName } = this.config;
    const isSecure = tls === "verify";
    const tlsOptions = {
      ca: tlsCa,
      serverName: tlsServerName,
      upgrade: { request: sslRequest, accept: Buffer.from("S"), refusal: tlsRefusal },
    };
    deadline.awaited = "connection";
    const aborted = deadline.signal();
    const socket: Socket = await this.egress.connect({
      workspaceId: this.workspaceId,
      host,
      port,
      timeoutMs: this.#timeoutMs,
      signal: aborted,
      ...(isSecure && { tls: tlsOptions }),
      onStage,
    });
    deadline.awaited = "complete answer of the database";
    deadline.onEnd((reason) => socket.destroy(reason as Error));
    try {
      const account = { ...this.config, scramKeys: this.#scramKeys };
      return await PostgresSession.open(socket, account, isSecure);
    } catch (error) {
      socket.destroy();
      deadline.throwIfOver();
      throw error;
    }
  }
}

const noTls = "The database does not offer TLS; set `tls` to `off` when its network is trusted";

/**
 * Returns the error message for a server whose answer to `sslRequest` does not accept TLS.
 * PostgreSQL without TLS answers `N`.
 */
function tlsRefusal(answer: Buffer): string {
  return answer.toString("latin1") === "N" ? noTls : new NotPostgres().message;
}

function rethrow(error: unknown): never {
  throw failureOf(error);
}

/** SQLSTATE codes of the error that a table, schema, object or catalog row exists already. */
const alreadyExists = new Set(["42P07", "42P06", "42710", "23505"]);
