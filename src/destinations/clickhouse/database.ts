import { type Egress, type EgressRequest, timeoutText } from "../../egress/egress.ts";
import { ageOf } from "../../observe/ages.ts";
import { DATABASE_ANSWER_BYTES_MAX, DATABASE_TIMEOUT_MS_DEFAULT } from "../limits.ts";
import type { NewColumns, TableColumn } from "../tables/column-values.ts";
import type { TableConnection } from "../tables/open-tables.ts";
import {
  DatabaseFailure,
  type ExistingTable,
  TABLE_MARK,
  type TableLoad,
} from "../tables/table-database.ts";
import type { ClickhouseConfig } from "./config.ts";
import { failureOf, failureOfNetwork, notClickhouse } from "./failures.ts";
import * as sql from "./sql.ts";

/**
 * A ClickHouse server, accessed over its HTTP interface. Each request has one statement in its
 * body.
 */
export class ClickhouseDatabase implements TableConnection {
  readonly #name: string;
  readonly #timeoutMs: number;
  #signal = AbortSignal.abort();
  /** Time of `performance.now()` at which the current delivery must end. */
  #deadline = 0;
  /** Text that is part of each deduplication token. It changes after a restart of the server. */
  #salt = "";
  /** Whether the next insert is the first one. */
  #isFirst = true;
  /**
   * Time of `performance.now()` after which the server may have got the next batch before, from an
   * insert that failed or from an earlier process. Undefined when the last insert succeeded.
   */
  #sentSince: number | undefined;

  constructor(
    private readonly config: ClickhouseConfig,
    private readonly workspaceId: string,
    private readonly egress: Egress,
  ) {
    this.#name = config.database ?? "default";
    this.#timeoutMs = config.timeoutMs ?? DATABASE_TIMEOUT_MS_DEFAULT;
  }

  async within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    this.#signal = signal;
    this.#deadline = performance.now() + this.#timeoutMs;
    return await work();
  }

  async describe(table: string): Promise<ExistingTable | undefined> {
    const [found] = rowsOf(await this.#run(sql.tableQuery(this.#name, table)));
    if (found === undefined) return undefined;
    const [engine, sortingKey, comment] = found.map(String);
    const columns = (await this.#columns(table)).map((row): [string, TableColumn] => {
      const [name, type, defaultKind] = row.map(String);
      return [name!, sql.columnOf(type ?? "", defaultKind ?? "", row[VIRTUAL_AT] === 1)];
    });
    return {
      columns: new Map(columns),
      isMarked: comment!.startsWith(TABLE_MARK),
      hasOwnKey: sql.hasOwnKey(engine!, sortingKey!),
    };
  }

  async #columns(table: string): Promise<unknown[][]> {
    const name = this.#qualified(table);
    try {
      return rowsOf(await this.#run(sql.columnsQuery(name, true)));
    } catch (error) {
      // Old versions of ClickHouse do not report which columns are virtual.
      if (!(error instanceof DatabaseFailure && error.code === UNKNOWN_SETTING)) throw error;
      return rowsOf(await this.#run(sql.columnsQuery(name, false)));
    }
  }

  async countTables(): Promise<number> {
    return Number(await this.#run(sql.tableCountQuery(this.#name)));
  }

  async createTable(table: string, key: string, columns: NewColumns, isMerged: boolean) {
    const text = sql.createTable(this.#qualified(table), key, columns, isMerged);
    try {
      await this.#run(text);
    } catch (error) {
      const isMissing = error instanceof DatabaseFailure && error.code === UNKNOWN_DATABASE;
      if (!isMissing) throw error;
      await this.#run(`create database if not exists ${sql.quoted(this.#name)}`);
      await this.#run(text);
    }
  }

  async addColumns(table: string, columns: NewColumns, isMerged: boolean): Promise<void> {
    await this.#run(sql.addColumns(this.#qualified(table), columns, isMerged));
  }

  /**
   * Inserts records with one atomic statement per table. ClickHouse ignores a repeated statement
   * with the same deduplication token. Tokens are new if the server may have restarted since an
   * earlier attempt, because a crash can leave a token without its rows.
   */
  async insert(loads: readonly TableLoad[]): Promise<void> {
    const startedAt = performance.now();
    // An earlier process may have sent the first batch too, but not before the events arrived.
    if (this.#isFirst) this.#sentSince = startedAt - ageMsOf(loads);
    this.#isFirst = false;
    try {
      if (this.#sentSince !== undefined && (await this.#hasRestartedSince(this.#sentSince))) {
        this.#salt = crypto.randomUUID();
        this.#sentSince = startedAt;
      }
      for (const load of loads) {
        await this.#run(sql.insertRows(this.#qualified(load.table), load, this.#salt));
      }
      this.#sentSince = undefined;
    } catch (error) {
      this.#sentSince ??= startedAt;
      throw error;
    }
  }

  /** Whether the server may have restarted since this time of `performance.now()`. */
  async #hasRestartedSince(time: number): Promise<boolean> {
    const uptimeMs = Number(await this.#run("select uptime()")) * 1_000;
    return uptimeMs <= performance.now() - time;
  }

  close(): void {}

  /** Creates `table` and writes a row to it, as a step of a connection test. */
  async testWrite(table: string): Promise<void> {
    const columns = new Map([["id", "string" as const]]);
    await this.createTable(table, "id", columns, false);
    await this.#run(`insert into ${this.#qualified(table)} (id) format JSONEachRow\n{"id":"test"}`);
  }

  async drop(table: string): Promise<void> {
    await this.#run(`drop table ${this.#qualified(table)}`);
  }

  /** Builds the request that runs a statement. */
  request(text: string | Uint8Array, timeoutMs: number, signal: AbortSignal): EgressRequest {
    const { url, user = "default", password = "", tlsCa, tlsServerName } = this.config;
    return {
      workspaceId: this.workspaceId,
      url,
      method: "POST",
      timeoutMs,
      signal,
      headers: {
        "content-type": "text/plain; charset=utf-8",
        "user-agent": "pixelmill",
        "x-clickhouse-user": user,
        ...(password !== "" && { "x-clickhouse-key": password }),
      },
      body: typeof text === "string" ? Buffer.from(text) : text,
      answerBytesMax: DATABASE_ANSWER_BYTES_MAX,
      // Creating is idempotent, and ClickHouse recognizes repeated inserts by their token.
      isRepeatable: true,
      tls: { ca: tlsCa, serverName: tlsServerName },
    };
  }

  #qualified(table: string): string {
    return `${sql.quoted(this.#name)}.${sql.quoted(table)}`;
  }

  async #run(text: string | Uint8Array): Promise<string> {
    const left = Math.ceil(this.#deadline - performance.now());
    if (left <= 0) {
      throw new DatabaseFailure("later", timeoutText("complete answer", this.#timeoutMs));
    }
    const request = this.request(text, left, this.#signal);
    const limited = { ...request, wholeTimeoutMs: this.#timeoutMs };
    const answer = await this.egress.request(limited).catch((error: unknown) => {
      throw failureOfNetwork(error);
    });
    const failure = failureOf(answer);
    if (failure !== undefined) throw failure;
    return Buffer.from(answer.body).toString();
  }
}

const UNKNOWN_DATABASE = "81";
const UNKNOWN_SETTING = "115";
/**
 * Index, in a row that `describe table` returns, of the value that says whether the column is
 * virtual (computed by ClickHouse).
 */
const VIRTUAL_AT = 7;

/** Returns how many milliseconds ago the newest record arrived; `Infinity` if that is unknown. */
function ageMsOf(loads: readonly TableLoad[]): number {
  const times = loads.flatMap(({ records }) =>
    records.map((record) => Date.parse(String(record.received_at))),
  );
  return ageOf(Math.max(...times.filter(Number.isFinite)));
}

/** Parses the rows in a response body. Each line is a row: a JSON array of at least 3 values. */
function rowsOf(text: string): unknown[][] {
  const lines = text.split("\n").filter((line) => line !== "");
  try {
    const rows: unknown[] = lines.map((line) => JSON.parse(line));
    if (rows.every((row): row is unknown[] => Array.isArray(row) && row.length >= 3)) return rows;
  } catch {
    // The error that is thrown below also covers lines that are not JSON.
  }
  throw new DatabaseFailure("later", notClickhouse);
}
