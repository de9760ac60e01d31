import { expect, test } from "bun:test";
import { readiness } from "../src/health.ts";
import { loadConfig } from "../src/settings/reader.ts";

const silent = "Broker 2 (b:9092) does not answer";

/** Readiness of a cluster's node whose check `cluster` has this trouble, beside warnings. */
function ready(trouble: string | undefined, warnings: string[]) {
  const none = { trouble: () => undefined };
  const cluster = trouble === undefined ? { ok: true } : { ok: false, message: trouble };
  return readiness({
    config: loadConfig({}, {}),
    ingest: { health: () => ({ trouble: undefined, warnings: [] }) },
    backend: {
      catalog: none,
      logs: { warnings: () => [] },
      checks: () => ({ cluster }),
      warnings: () => warnings,
    },
    sandbox: { status: () => ({ state: "ready" }) },
    pipeline: { warnings: () => [] },
    backups: undefined,
    certificates: {},
    starting: undefined,
  } as unknown as Parameters<typeof readiness>[0]);
}

test("a cause of a failed check and of warnings has one sentence, with all that follows from it", () => {
  const trouble = `${silent}; it leads the catalog, which this node cannot read`;
  const copies = `${silent}; partition 1 has too few copies`;
  const { checks, warnings } = ready(trouble, [copies, "The clock of node a is 40 s behind"]);
  expect(checks.cluster).toEqual({
    ok: false,
    message: `${trouble}; partition 1 has too few copies`,
  });
  expect(warnings).toEqual(["The clock of node a is 40 s behind"]);
});

test("a warning without a failed check of its cause stays a warning", () => {
  expect(ready(undefined, [silent]).warnings).toEqual([silent]);
  expect(ready("The catalog is closed", [silent]).warnings).toEqual([silent]);
});
