import type { Egress } from "../../egress/egress.ts";
import { TABLE_BATCH_EVENTS_MAX } from "../../limits.ts";
import { configFaults } from "../config-faults.ts";
import type { DestinationKind, OpenDestination } from "../destination.ts";
import { Loader } from "../tables/loader.ts";
import { Names } from "../tables/names.ts";
import { type TestStep, type TestStepName, TestSteps } from "../test-steps.ts";
import { PostgresConfig } from "./config.ts";
import { PostgresDatabase } from "./database.ts";

/** Bytes of an identifier; PostgreSQL cuts longer ones, and two that begin alike become one. */
const NAME_CHARS_MAX = 63;

/** Writes events into tables of PostgreSQL, which it makes and widens as the events need. */
export function postgresKind(egress: Egress): DestinationKind {
  return {
    kind: "postgres",
    configSchema: PostgresConfig,
    secretKeys: ["password"],
    validate: (config) => configFaults(PostgresConfig, config),
    batchSize: (config) => (config as PostgresConfig).batchSize ?? TABLE_BATCH_EVENTS_MAX,
    // One connection each: a database has few.
    concurrency: () => 1,
    open: (config, workspaceId) => openPostgres(config as PostgresConfig, workspaceId, egress),
    test: (config, workspaceId, signal) =>
      testPostgres(
        new PostgresDatabase(config as PostgresConfig, workspaceId, egress),
        config,
        signal,
      ),
  };
}

function openPostgres(
  config: PostgresConfig,
  workspaceId: string,
  egress: Egress,
): OpenDestination {
  const { mode = "columns", eventTables = false, rawTable = "events" } = config;
  const names = new Names({ charsMax: NAME_CHARS_MAX, escapesWords: true });
  const loader = new Loader({ mode, eventTables, rawTable, names });
  const database = new PostgresDatabase(config, workspaceId, egress);
  let last: Promise<unknown> = Promise.resolve();

  return {
    deliver(events, signal) {
      const turn = last.then(() => database.within(signal, () => loader.load(events, database)));
      last = turn.catch(() => {});
      return turn.catch((error) => ({ kind: "retry", reason: (error as Error).message }));
    },
    async close() {
      await last;
      database.close();
    },
  };
}

async function testPostgres(
  database: PostgresDatabase,
  { tls }: Record<string, unknown>,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const steps = new TestSteps();
  const ahead: TestStepName[] = ["resolve", "connect", ...(tls === "off" ? [] : ["tls" as const])];
  ahead.push("sign-in", "write");
  const passed = () => steps.passed(ahead.shift()!);
  try {
    await database.within(signal, async () => {
      await database.signIn(passed);
      passed();
      await database.tryOut();
    });
    passed();
    steps.passed("clean-up");
  } catch (error) {
    steps.failed(ahead[0]!, (error as Error).message);
  }
  database.close();
  return steps.done;
}
