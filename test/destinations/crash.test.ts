import { expect, test } from "bun:test";
import {
  pixel,
  removeDirectory,
  type Server,
  startServer,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { ClickhouseServer, hasClickhouse } from "./clickhouse-server.ts";
import { hasPostgres, PostgresServer } from "./postgres-server.ts";

/** `CRASH_ROUNDS=20 bun test test/destinations/crash.test.ts` kills more often. */
const rounds = Number(process.env.CRASH_ROUNDS ?? 2);

/** A real database, and how to count what is in its table `tracks`. */
interface Target {
  type: string;
  config: Record<string, unknown>;
  /** Values of the property `n`, one for each row, doubled rows too. */
  numbers(): Promise<string[]>;
  end(): Promise<void>;
}

async function postgres(): Promise<Target> {
  const server = await PostgresServer.start();
  return {
    ...{ type: "postgres", config: { ...server.account, tls: "off" } },
    numbers: async () => (await server.ask("select n from public.tracks")).split("\n"),
    end: () => server.end(),
  };
}

async function clickhouse(): Promise<Target> {
  const server = await ClickhouseServer.start();
  return {
    ...{ type: "clickhouse", config: server.account },
    numbers: async () => (await server.ask("select n from default.tracks final")).split("\n"),
    end: () => server.end(),
  };
}

async function connect(server: Server, { type, config }: Target): Promise<string> {
  const made = async (path: string, body: object) => {
    const answer = await server.api("POST", path, body);
    if (answer.status > 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const { source } = await made("/v2/sources", { name: "Website", type: "http" });
  const { destination } = await made("/v2/destinations", { name: "Warehouse", type, config });
  await made("/v2/connections", { sourceId: source.id, destinationId: destination.id });
  return source.writeKey;
}

/** Sends pixels until the server dies; each answered 200 is noted. */
async function load(server: Server, writeKey: string, acknowledged: Set<string>, round: number) {
  const workers = Array.from({ length: 8 }, async (_, worker) => {
    for (let index = 0; ; index++) {
      const n = `${round}-${worker}-${index}`;
      // New columns come all the time: tables are widened in the middle of it.
      const fresh = { [`properties.p${index % 50}_${round}`]: String(index) };
      const query = { writeKey, userId: `u${worker}`, event: "Load", "properties.n": n, ...fresh };
      const response = await pixel(server, "track", query).catch(() => undefined);
      if (response?.status !== 200) return;
      acknowledged.add(n);
    }
  });
  await Promise.all(workers);
}

test.each([
  { name: "PostgreSQL", isThere: hasPostgres, start: postgres },
  { name: "ClickHouse", isThere: hasClickhouse, start: clickhouse },
])(
  "SIGKILL in the middle of batches into $name loses and doubles nothing",
  async ({ isThere, start }) => {
    if (!isThere) return;
    const target = await start();
    const directory = temporaryDirectory();
    const acknowledged = new Set<string>();
    try {
      let writeKey = "";
      for (let round = 0; round < rounds; round++) {
        const server = await startServer({ directory });
        if (round === 0) writeKey = await connect(server, target);
        const before = acknowledged.size;
        const loaded = load(server, writeKey, acknowledged, round);
        const wanted = 200 + Math.random() * 400;
        await waitFor(() => acknowledged.size - before >= wanted, 60_000);
        await server.stop("SIGKILL");
        await loaded;
      }
      const server = await startServer({ directory });
      let numbers: string[] = [];
      const missing = async () => {
        numbers = await target.numbers().catch(() => []);
        return acknowledged.difference(new Set(numbers));
      };
      await waitFor(async () => (await missing()).size === 0, 60_000).catch(() => {});
      expect([...(await missing())]).toEqual([]);
      expect(numbers.length).toBe(new Set(numbers).size);
      expect(await server.stop()).toBe(0);
    } finally {
      await target.end();
      removeDirectory(directory);
    }
  },
  120_000 + rounds * 30_000,
);
