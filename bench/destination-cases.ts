import { readdirSync, readFileSync } from "node:fs";
import { clickhouseKind } from "../src/destinations/clickhouse/clickhouse.ts";
import type { DestinationKind } from "../src/destinations/destination.ts";
import { postgresKind } from "../src/destinations/postgres/postgres.ts";
import type { Egress } from "../src/egress/egress.ts";
import {
  ClickhouseServer,
  clickhouseMissing,
} from "../test/destinations/clickhouse/clickhouse-server.ts";
import { PostgresServer, postgresMissing } from "../test/destinations/postgres/postgres-server.ts";

/** Benchmark case: a kind of destination, and a plain client of the same system as the baseline. */
export interface Case {
  name: string;
  /** Short name of the method that the plain client uses. */
  plainly: string;
  /** Reason why this machine cannot run the case; undefined if it can. */
  missing: string | undefined;
  start(egress: Egress): Promise<Running>;
}

export interface Running {
  kind: DestinationKind;
  config: Record<string, unknown>;
  /**
   * Writes the same columns with the plain client; resolves with the CPU time of its processes in
   * µs.
   */
  plain(events: readonly Uint8Array[]): Promise<number>;
  /** CPU time of the database server in µs. */
  serverCpu(): number;
  /** Adds a column with the arrival time of each row, in ms. */
  stamp(): Promise<void>;
  /** Milliseconds from the property `sent` to the arrival time of each row. */
  latencies(): Promise<number[]>;
  end(): Promise<void>;
}

/** Columns that a table has for a pixel event. */
const columns = "id anonymous_id user_id received_at sent_at event event_text context_ip".split(
  " ",
);
const properties = "page_url page_title price seats plan is_trial n".split(" ");
const all = [...columns, ...properties];

function plainRow(bytes: Uint8Array): (string | number | boolean | null)[] {
  const event = JSON.parse(Buffer.from(bytes).toString());
  const { properties: values, context } = event;
  return [
    ...[event.messageId, event.anonymousId, event.userId, event.receivedAt, event.sentAt],
    ...[event.originalTimestamp, "order_completed", event.event, event.channel],
    ...[event.request_ip, event.request_ip, context.library.name, context.library.version],
    ...[context.screen.width, context.screen.height],
    ...properties.map((name) => values[name] ?? null),
  ];
}

const escapes: Record<string, string> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const asCopy = (value: unknown) =>
  value === null ? "\\N" : String(value).replace(/[\\\t\n\r]/g, (one) => escapes[one]!);

const TICK_MICROS = 10_000;

/** CPU time of a process and of all its descendants, ended ones included. */
export function familyCpu(pid: number): number {
  const micros = (id: number) => {
    const fields = readFileSync(`/proc/${id}/stat`, "latin1").split(") ").at(-1)!.split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MICROS;
  };
  let sum = micros(pid);
  for (const name of readdirSync("/proc").filter((it) => /^\d+$/.test(it))) {
    try {
      const [, parent] = readFileSync(`/proc/${name}/stat`, "latin1")
        .split(") ")
        .at(-1)!
        .split(" ");
      if (Number(parent) === pid) sum += micros(Number(name));
    } catch {
      // The process has ended since the listing.
    }
  }
  return sum;
}

async function startPostgres(egress: Egress): Promise<Running> {
  const server = await PostgresServer.start();
  const types = [
    ..."text text text timestamptz timestamptz timestamptz text text text text text".split(" "),
    ..."text text bigint bigint text text numeric bigint text boolean bigint".split(" "),
  ];
  const lines = all.map((name, at) => `${name} ${types[at]}`);
  await server.ask(`create table plain (${lines.join(", ")}, primary key (id))`);
  return {
    kind: postgresKind(egress),
    config: { ...server.account, tls: "off" },
    async plain(events) {
      const text = events.map((one) => plainRow(one).map(asCopy).join("\t")).join("\n");
      const copied = server.copy(`plain (${all.join(", ")})`, Buffer.from(`${text}\n`));
      await copied.exited;
      const { user, system } = copied.resourceUsage()!.cpuTime;
      return Number(user) + Number(system);
    },
    serverCpu: () => familyCpu(server.pid),
    stamp: async () => {
      const now = "(extract(epoch from clock_timestamp()) * 1000)";
      await server.ask(`alter table tracks add column came bigint default ${now}`);
    },
    latencies: async () =>
      (await server.ask("select came - sent from tracks where sent is not null"))
        .split("\n")
        .map(Number),
    end: () => server.end(),
  };
}

async function startClickhouse(egress: Egress): Promise<Running> {
  const server = await ClickhouseServer.start();
  const nullable = (type: string) => `Nullable(${type})`;
  const types = [
    ...["String", nullable("String"), nullable("String"), "DateTime64(3)"],
    ...[nullable("DateTime64(3)"), nullable("DateTime64(3)")],
    ...Array.from({ length: 7 }, () => nullable("String")),
    ...["Int64", "Int64", "String", "String", "Float64", "Int64", "String", "Bool", "Int64"].map(
      nullable,
    ),
  ];
  const lines = all.map((name, at) => `${name} ${types[at]}`);
  await server.ask(
    `create table plain (${lines.join(", ")}) engine = ReplacingMergeTree order by (received_at, id)`,
  );
  return {
    kind: clickhouseKind(egress),
    config: server.account,
    async plain(events) {
      const rows = events.map((one) => {
        const values = plainRow(one);
        return JSON.stringify(Object.fromEntries(all.map((name, at) => [name, values[at]])));
      });
      const settings = "settings date_time_input_format = 'best_effort'";
      await server.ask(`insert into plain ${settings} format JSONEachRow\n${rows.join("\n")}`);
      return 0;
    },
    serverCpu: () => familyCpu(server.pid),
    stamp: async () => {
      const now = "toUnixTimestamp64Milli(now64(3))";
      await server.ask(`alter table tracks add column came Int64 default ${now}`);
    },
    latencies: async () =>
      (await server.ask("select came - sent from tracks where sent is not null"))
        .split("\n")
        .map(Number),
    end: () => server.end(),
  };
}

export const cases: Case[] = [
  { name: "postgres", plainly: "psql COPY", missing: postgresMissing, start: startPostgres },
  {
    name: "clickhouse",
    plainly: "JSONEachRow",
    missing: clickhouseMissing,
    start: startClickhouse,
  },
];
