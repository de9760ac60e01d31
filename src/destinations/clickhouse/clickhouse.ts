import type { Egress } from "../../egress/egress.ts";
import { answerOf } from "../answers/receiver-answer.ts";
import type { DestinationKind, SecretAudience } from "../destination.ts";
import { DATABASE_BATCH_EVENTS_MAX, DATABASE_TIMEOUT_MS_DEFAULT } from "../limits.ts";
import { maskedUrl } from "../masked-url.ts";
import { acceptedCertificate, audienceOfUrl } from "../secret-audience.ts";
import { openTables } from "../tables/open-tables.ts";
import { DatabaseFailure } from "../tables/table-database.ts";
import { requestInSteps, type TestStep, TestSteps } from "../test-steps.ts";
import { ClickhouseConfig, clickhouseFaults } from "./config.ts";
import { ClickhouseDatabase } from "./database.ts";
import { failureOf, notClickhouse } from "./failures.ts";

/**
 * Maximum length of the name of a table or column, in characters of one byte each. ClickHouse adds
 * further parts to such a name to form file names, which have at most 255 bytes.
 */
const NAME_CHARS_MAX = 127;
const rules = { charsMax: NAME_CHARS_MAX, escapesWords: false };

/**
 * Creates the kind of destination that writes events to ClickHouse tables. When events need them,
 * the destination creates tables and adds columns.
 */
export function clickhouseKind(egress: Egress): DestinationKind<ClickhouseConfig> {
  const databaseOf = (config: ClickhouseConfig, workspaceId: string) =>
    new ClickhouseDatabase(config, workspaceId, egress);
  return {
    kind: "clickhouse",
    configSchema: ClickhouseConfig,
    secretKeys: [{ path: "password", audiences: (config) => [audienceOf(config)] }],
    maskedKeys: [{ path: "url", shown: ({ url }) => maskedUrl(url) }],
    validate: clickhouseFaults,
    endpoint: ({ url, database = "default" }) =>
      url && `${maskedUrl(url).replace(/\/$/, "")}, ${database}`,
    batchSize: (config) => config.batchSize ?? DATABASE_BATCH_EVENTS_MAX,
    // ClickHouse is slow when it gets many small inserts at a time.
    concurrency: 1,
    open: (config, workspaceId) => openTables(config, rules, databaseOf(config, workspaceId)),
    test: (config, workspaceId, signal) =>
      testClickhouse(egress, databaseOf(config, workspaceId), signal),
  };
}

function audienceOf(config: ClickhouseConfig): SecretAudience {
  const certificate = acceptedCertificate(config, new URL(config.url).hostname);
  return { ...audienceOfUrl(config.url), certificate };
}

async function testClickhouse(
  egress: Egress,
  database: ClickhouseDatabase,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const steps = new TestSteps();
  const request = database.request("select 1", DATABASE_TIMEOUT_MS_DEFAULT, signal);
  const answer = await requestInSteps(egress, request, steps, "sign-in");
  if (answer === undefined) return steps.done;
  const failure = failureOf(answer);
  if (failure !== undefined) {
    steps.failed("sign-in", failure.message, failure.answer);
    return steps.done;
  }
  if (Buffer.from(answer.body).toString().trim() !== "1") {
    // A web server may answer 200 to any request.
    steps.failed("sign-in", notClickhouse, answerOf(answer));
    return steps.done;
  }
  steps.passed("sign-in");
  const table = `pixelmill_connection_test_${crypto.randomUUID().replaceAll("-", "")}`;
  let step: "write" | "clean-up" = "write";
  try {
    await database.within(signal, async () => {
      await database.testWrite(table);
      steps.passed("write");
      step = "clean-up";
      await database.drop(table);
      steps.passed("clean-up");
    });
  } catch (error) {
    const answer = error instanceof DatabaseFailure ? error.answer : undefined;
    steps.failed(step, (error as Error).message, answer);
  }
  return steps.done;
}
