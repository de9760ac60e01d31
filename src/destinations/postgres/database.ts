import type { Socket } from "node:net";
import { Deadline } from "../../egress/deadline.ts";
import type { Egress, OnStage } from "../../egress/egress.ts";
import { DATABASE_IDLE_MS_MAX, DATABASE_TIMEOUT_MS_DEFAULT } from "../limits.ts";
import type { TableConnection } from "../tables/open-tables.ts";
import type { TableDatabase, TableLoad } from "../tables/table-loader.ts";
import type { TableColumns } from "../tables/table-records.ts";
import type { PostgresConfig } from "./config.ts";
import { failureOf } from "./failures.ts";
import { PostgresError, PostgresSession, type ResultRow, SessionLost } from "./postgres-session.ts";
import { query, simpleQuery, sslRequest } from "./protocol.ts";
import * as sql from "./sql.ts";

/**
 * Longest wait for a table's lock; then the delivery is tried again later, since whoever waits to
 * change a table stops its readers.
 */
const LOCK_MS_MAX = 5_000;

/**
 * The one connection of a destination: opened when it is first needed, and closed when it has not
 * been used for a while. Calls come one after the other.
 */
export class PostgresDatabase implements TableConnection {
  readonly #config: PostgresConfig;
  readonly #workspaceId: string;
  readonly #egress: Egress;
  readonly #schema: string;
  readonly #timeoutMs: number;
  #session: PostgresSession | undefined;
  #deadline: Deadline | undefined;
  #idle: Timer | undefined;

  constructor(config: PostgresConfig, workspaceId: string, egress: Egress) {
    this.#config = config;
    this.#workspaceId = workspaceId;
    this.#egress = egress;
    this.#schema = config.schema ?? "public";
    this.#timeoutMs = config.timeoutMs ?? DATABASE_TIMEOUT_MS_DEFAULT;
  }

  /**
   * Runs some work that ends when the time is over or the signal aborts, whatever the database
   * does.
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

  async columns(table: string): Promise<TableColumns | undefined> {
    const rows = await this.#run(query([sql.columnsQuery, this.#schema, table]));
    if (rows.length === 0) return undefined;
    return new Map(
      rows.map(([name, type, generated]) => [
        name ?? "",
        sql.columnOf(type ?? "", (generated ?? "") !== ""),
      ]),
    );
  }

  async countTables(): Promise<number> {
    const [row] = await this.#run(query([sql.tableCountQuery, this.#schema]));
    return Number(row?.[0] ?? 0);
  }

  async createTable(
    ...[table, key, columns]: Parameters<TableDatabase["createTable"]>
  ): Promise<void> {
    const found = await this.#run(query([sql.schemaQuery, this.#schema]));
    if (found.length === 0) {
      await this.#make(`create schema if not exists ${sql.quoted(this.#schema)}`);
    }
    await this.#make(sql.createTable(this.#schema, table, key, columns));
  }

  async addColumns(...[table, columns]: Parameters<TableDatabase["addColumns"]>): Promise<void> {
    await this.#run(simpleQuery(sql.addColumns(this.#schema, table, columns)));
  }

  async insert(loads: readonly TableLoad[], key: string): Promise<void> {
    const statements = loads.map((load): [string, string] => [
      sql.insertRows(this.#schema, load, key),
      JSON.stringify(load.records),
    ]);
    await this.#run(query(...statements));
  }

  /** The connection test: makes a table, writes into it, and rolls all of that back. */
  async testWrite(): Promise<void> {
    const found = await this.#run(query([sql.schemaQuery, this.#schema]));
    await this.#run(simpleQuery(sql.testStatements(this.#schema, found.length > 0)));
  }

  /** Signs in, unless that has been done. */
  async signIn(onStage: OnStage): Promise<void> {
    try {
      this.#session ??= await this.#open(this.#deadline!, onStage);
    } catch (error) {
      throw failureOf(error);
    }
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#session?.close();
    this.#session = undefined;
  }

  /**
   * Runs a statement that makes something; somebody else may be making the same, and then one of
   * the two fails.
   */
  async #make(text: string): Promise<void> {
    try {
      await this.#tell(simpleQuery(text));
    } catch (error) {
      if (!(error instanceof PostgresError && made.has(error.code))) throw failureOf(error);
    }
  }

  async #run(messages: Buffer): Promise<ResultRow[]> {
    try {
      return await this.#tell(messages);
    } catch (error) {
      throw failureOf(error);
    }
  }

  async #tell(messages: Buffer): Promise<ResultRow[]> {
    const deadline = this.#deadline!;
    const kept = this.#session?.isOpen ? this.#session : undefined;
    this.#session = kept ?? (await this.#open(deadline));
    try {
      return await this.#ask(this.#session, deadline, messages);
    } catch (error) {
      // A kept connection may have ended unnoticed; every statement here may be sent twice.
      if (kept === undefined || !(error instanceof SessionLost)) throw error;
      deadline.throwIfOver();
      this.#session = await this.#open(deadline);
      return await this.#ask(this.#session, deadline, messages);
    }
  }

  async #ask(session: PostgresSession, deadline: Deadline, messages: Buffer): Promise<ResultRow[]> {
    deadline.awaited = "complete answer of the database";
    deadline.onEnd((reason) => session.destroy(reason));
    return await session.run(messages);
  }

  async #open(deadline: Deadline, onStage?: OnStage): Promise<PostgresSession> {
    const { host, port = 5432, tls = "verify", tlsCa, tlsServerName } = this.#config;
    const isSecure = tls === "verify";
    const terms = {
      ...{ ca: tlsCa, serverName: tlsServerName },
      upgrade: { request: sslRequest, accept: Buffer.from("S"), refusal: noTls },
    };
    deadline.awaited = "connection";
    const cut = deadline.signal();
    const socket: Socket = await this.#egress.connect({
      ...{ workspaceId: this.#workspaceId, host, port, timeoutMs: this.#timeoutMs, signal: cut },
      ...(isSecure && { tls: terms }),
      onStage,
    });
    deadline.awaited = "complete answer of the database";
    deadline.onEnd((reason) => socket.destroy(reason as Error));
    try {
      const session = await PostgresSession.open(socket, this.#config, isSecure);
      const bounds = `set statement_timeout = ${this.#timeoutMs}; set lock_timeout = ${LOCK_MS_MAX}`;
      await session.run(simpleQuery(`${bounds}; set timezone = 'UTC'; set datestyle = 'ISO'`));
      return session;
    } catch (error) {
      socket.destroy();
      deadline.throwIfOver();
      throw error;
    }
  }
}

const noTls = "The database does not offer TLS; set `tls` to `off` when its network is trusted";

/** SQLSTATEs for a table, schema, object, or row of the catalog that exists already. */
const made = new Set(["42P07", "42P06", "42710", "23505"]);
