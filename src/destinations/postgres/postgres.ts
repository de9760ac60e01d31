import type { Egress } from "../../egress/egress.ts";
import type { DestinationKind, SecretAudience } from "../destination.ts";
import { DATABASE_BATCH_EVENTS_MAX } from "../limits.ts";
import { ScramDerivations } from "../scram-keys.ts";
import { acceptedCertificate } from "../secret-audience.ts";
import { openTables } from "../tables/open-tables.ts";
import { DatabaseFailure } from "../tables/table-database.ts";
import { connectionSteps, type TestStep, type TestStepName, TestSteps } from "../test-steps.ts";
import { PostgresConfig, postgresFaults } from "./config.ts";
import { PostgresDatabase } from "./database.ts";

/**
 * Maximum length of an identifier in bytes. All names are ASCII, so this is their number of
 * characters too. PostgreSQL truncates longer identifiers, so two of them could become equal.
 */
const NAME_BYTES_MAX = 63;
const rules = { charsMax: NAME_BYTES_MAX, escapesWords: true };

/**
 * Creates the kind of destination that writes events to PostgreSQL tables. The destination creates
 * tables and adds columns when events need them.
 */
export function postgresKind(
  egress: Egress,
  derivations = new ScramDerivations(),
): DestinationKind<PostgresConfig> {
  const databaseOf = (config: PostgresConfig, workspaceId: string) =>
    new PostgresDatabase(config, workspaceId, egress, derivations);
  return {
    kind: "postgres",
    configSchema: PostgresConfig,
    secretKeys: [{ path: "password", audiences: (config) => [audienceOf(config)] }],
    validate: postgresFaults,
    endpoint: ({ host, port = 5432, database }) => host && `postgres://${host}:${port}/${database}`,
    batchSize: (config) => config.batchSize ?? DATABASE_BATCH_EVENTS_MAX,
    // Each destination uses one connection, because a PostgreSQL server allows only few.
    concurrency: 1,
    open: (config, workspaceId) => openTables(config, rules, databaseOf(config, workspaceId)),
    test: (config, workspaceId, signal) => {
      return testPostgres(databaseOf(config, workspaceId), config, signal);
    },
  };
}

function audienceOf(config: PostgresConfig): SecretAudience {
  const { host, port = 5432, tls } = config;
  const certificate = acceptedCertificate(config, host);
  return { host: `${host.toLowerCase()}:${port}`, isTls: tls !== "off", certificate };
}

async function testPostgres(
  database: PostgresDatabase,
  { tls }: PostgresConfig,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const steps = new TestSteps();
  const ahead: TestStepName[] = [...connectionSteps(tls !== "off"), "sign-in", "write"];
  const passed = () => steps.passed(ahead.shift()!);
  try {
    await database.within(signal, async () => {
      await database.signIn(passed);
      passed();
      await database.testWrite();
    });
    passed();
    steps.passed("clean-up");
  } catch (error) {
    const answer = error instanceof DatabaseFailure ? error.answer : undefined;
    steps.failed(ahead[0]!, (error as Error).message, answer);
  }
  database.close();
  return steps.done;
}
