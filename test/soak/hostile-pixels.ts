/**
 * Sends pixels of which some are hostile to tables, and judges what arrived in PostgreSQL and in
 * ClickHouse. Each acknowledged pixel must be stored once or be a dead letter, and good pixels are
 * no dead letters.
 *
 *   npm run hostile-pixels [MINUTES] [PIXELS_PER_SECOND]   exits with 1 when a promise was broken
 */
import { ClickhouseServer } from "../destinations/clickhouse/clickhouse-server.ts";
import { PostgresServer } from "../destinations/postgres/postgres-server.ts";
import {
  lanesAreThrough,
  removeDirectory,
  type Server,
  startServer,
  waitFor,
} from "../e2e/server.ts";

const USERS = 50;
/** Good pixels between two hostile ones. */
const GOOD_RUN = 99;
const SAMPLE_MS = 2_000;
const DRAIN_MS_MAX = 600_000;

/** Parameters of one pixel each: names, values and event names that tables may refuse. */
const hostile: readonly Record<string, string>[] = [
  ...["xmin", "ctid", "tableoid", "cmax", "_block_number", "_row_exists", "_part_offset"],
  ...["id", "order", "select", "a\0b", "n".repeat(300), "🙂", "__proto__", "constructor"],
].map((name) => ({ [`properties.${name}`]: "1" }));

const hostileEvents: readonly Record<string, string>[] = [
  ...["", "tracks", "identifies", "pg_class", "orders", "x".repeat(300), "a\0b", "select 1; --"],
].map((event) => ({ event }));

const hostileValues: readonly Record<string, string>[] = [
  ...["9223372036854775808", "-9223372036854775808", "1e308", "1e-320", "NaN", "\0", "\u{10fffe}"],
  ...["-0001-01-01", "2026-02-30", "9999-12-31T23:59:59Z", "x".repeat(20_000), "true", "[1,2"],
].map((value) => ({ "properties.mixed": value }));

const attacks = [...hostile, ...hostileEvents, ...hostileValues];

export interface HostilePixelsReport {
  /** Numbers of pixels that were answered with 200. */
  acknowledged: number;
  acknowledgedHostile: number;
  /** Longest age in ms of a good pixel that a sample did not find stored, by destination. */
  lagMsMax: Record<string, number>;
  /** Number of dead letters by destination and reason. */
  letters: Record<string, number>;
  /** A sentence for each broken promise; empty when the server kept all. */
  faults: string[];
}

interface Table {
  name: string;
  type: string;
  config: Record<string, unknown>;
  /** Returns the numbers of the stored pixels from `from` on. */
  numbersFrom(from: number): Promise<number[]>;
}

export async function sendHostilePixels(
  minutes: number,
  pixelsPerSecond: number,
): Promise<HostilePixelsReport> {
  const postgres = await PostgresServer.start();
  const clickhouse = await ClickhouseServer.start();
  const tables: Table[] = [
    {
      name: "PostgreSQL",
      type: "postgres",
      config: { ...postgres.account, tls: "off", schema: "site", eventTables: true },
      numbersFrom: (from) =>
        numbersOf(
          postgres.rows(`select anonymous_id from site.tracks where anonymous_id::int >= ${from}`),
        ),
    },
    {
      name: "ClickHouse",
      type: "clickhouse",
      config: { ...clickhouse.account, database: "site", eventTables: true },
      numbersFrom: (from) =>
        numbersOf(
          clickhouse.rows(
            `select anonymous_id from site.tracks final where toInt64(anonymous_id) >= ${from}`,
          ),
        ),
    },
  ];
  const server = await startServer({ flags: ["--log-level", "warn", "--metrics-tenants", "true"] });
  try {
    return await run(server, tables, minutes, pixelsPerSecond);
  } finally {
    await server.stop();
    removeDirectory(server.directory);
    await postgres.end();
    await clickhouse.end();
  }
}

async function run(
  server: Server,
  tables: readonly Table[],
  minutes: number,
  pixelsPerSecond: number,
): Promise<HostilePixelsReport> {
  const { source } = (await created(server, "/v2/sources", { name: "Site", type: "http" })) as any;
  const ids = new Map<string, string>();
  for (const { name, type, config } of tables) {
    const { destination } = await created(server, "/v2/destinations", { name, type, config });
    await created(server, "/v2/connections", {
      sourceId: source.id,
      destinationId: destination.id,
    });
    ids.set(destination.id, name);
  }

  const sentAt: number[] = [];
  const acknowledged = new Set<number>();
  const isHostile = (number: number) => number % (GOOD_RUN + 1) === GOOD_RUN;
  const send = async (number: number) => {
    const attack = isHostile(number)
      ? attacks[Math.floor(number / (GOOD_RUN + 1)) % attacks.length]
      : {};
    const query = new URLSearchParams({
      writeKey: source.writeKey,
      userId: `u${number % USERS}`,
      event: "Seen",
      anonymousId: String(number),
      ...attack,
    });
    const answer = await fetch(`${server.dataPlane}/pixel/v1/track?${query}`, { keepalive: false });
    await answer.arrayBuffer();
    if (answer.status === 200) acknowledged.add(number);
  };

  const lagMsMax: Record<string, number> = {};
  /** Number of the oldest good pixel that no sample has found, by destination. */
  const oldest: Record<string, number> = {};
  const sample = async ({ name, numbersFrom }: Table) => {
    let number = oldest[name] ?? 0;
    const found = new Set(await numbersFrom(number).catch(() => []));
    while (found.has(number) || isHostile(number)) number += 1;
    oldest[name] = number;
    const lagMs = number < sentAt.length ? performance.now() - sentAt[number]! : 0;
    lagMsMax[name] = Math.round(Math.max(lagMsMax[name] ?? 0, lagMs));
  };

  const end = performance.now() + minutes * 60_000;
  const sending = new Set<Promise<void>>();
  let sampledAt = performance.now();
  for (let number = 0; performance.now() < end; number++) {
    sentAt.push(performance.now());
    const one = send(number).finally(() => sending.delete(one));
    sending.add(one);
    await Bun.sleep(1_000 / pixelsPerSecond);
    if (performance.now() - sampledAt < SAMPLE_MS) continue;
    sampledAt = performance.now();
    for (const table of tables) void sample(table);
  }
  await Promise.all(sending);
  const letters = await drain(server, tables.length);
  const faults: string[] = [];
  for (const { name, numbersFrom } of tables) {
    const numbers = await numbersFrom(0);
    const rows = new Set(numbers);
    if (rows.size < numbers.length) faults.push(`${name} has ${numbers.length - rows.size} twice`);
    const own = new Set(
      letters.filter(({ destination }) => ids.get(destination) === name).map((one) => one.number),
    );
    const lost = [...acknowledged].filter((number) => !rows.has(number) && !own.has(number));
    if (lost.length > 0) faults.push(`${name} lacks ${lost.length}, such as ${lost.slice(0, 5)}`);
    const innocent = [...own].filter((number) => !isHostile(number));
    if (innocent.length > 0) faults.push(`${name} refused ${innocent.length} good pixels`);
  }
  return {
    acknowledged: acknowledged.size,
    acknowledgedHostile: [...acknowledged].filter(isHostile).length,
    lagMsMax,
    letters: Object.fromEntries(
      Map.groupBy(letters, (one) => `${ids.get(one.destination)}: ${one.reason}`)
        .entries()
        .map(([reason, group]) => [reason, group.length]),
    ),
    faults,
  };
}

/** Waits until both lanes have settled all events; returns the dead letters. */
async function drain(server: Server, lanes: number) {
  await waitFor(() => lanesAreThrough(server, lanes), "all events to settle", DRAIN_MS_MAX);
  const letters: { destination: string; reason: string; number: number }[] = [];
  for (let cursor = ""; ; ) {
    const { body } = await server.api("GET", `/v2/dead-letters?limit=100${cursor}`);
    for (const letter of body.deadLetters) {
      const { destinationId, reason, event } = letter;
      const number = Number(event?.anonymousId);
      letters.push({ destination: destinationId, reason, number });
    }
    if (body.paging.next === undefined) return letters;
    cursor = `&cursor=${encodeURIComponent(body.paging.next)}`;
  }
}

async function created(server: Server, path: string, body: object): Promise<any> {
  const answer = await server.api("POST", path, body);
  if (answer.status > 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function numbersOf(rows: Promise<Record<string, unknown>[]>): Promise<number[]> {
  return (await rows).map(({ anonymous_id }) => Number(anonymous_id));
}

if (import.meta.main) {
  const [minutes = "5", pixelsPerSecond = "100"] = process.argv.slice(2);
  const report = await sendHostilePixels(Number(minutes), Number(pixelsPerSecond));
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  process.exit(report.faults.length === 0 ? 0 : 1);
}
