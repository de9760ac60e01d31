import { expect, test } from "bun:test";
import {
  DELIVERIES_HELD,
  programSuspensions,
  readiness,
  SANDBOX_INSECURE,
  slowRevisions,
  systemFigures,
} from "../src/health.ts";

const silent = "Broker 2 (b:9092) does not answer";

/** Readiness of a cluster's node whose check `cluster` has this trouble, beside warnings. */
function ready(trouble: string | undefined, warnings: string[]) {
  const none = { trouble: () => undefined };
  const cluster = trouble === undefined ? { ok: true } : { ok: false, message: trouble };
  return readiness({
    isOnHold: () => false,
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

test("figures of the system have each process's own, and what the parts know", async () => {
  const metric = (name: string, value: number, labels = {}) => ({
    ...{ name, values: [{ value, labels }] },
  });
  const cpuSeconds = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  const before = cpuSeconds();
  const figures = await systemFigures({
    ingest: {
      metrics: async () => [
        [
          metric("process_cpu_seconds_total", 2.5, { process: "other" }),
          metric("process_resident_memory_bytes", 1_000, { process: "ingest-0" }),
        ],
        [],
      ],
    },
    sandbox: { guestCounts: () => ({ alive: 2, awaited: 1 }) },
    pipeline: { keptEvents: async () => ({ bytes: 7, oldestAt: 9 }) },
    disk: { usedBytes: () => ({ events: 5 }), freeBytes: () => 11 },
    retention: { ageMsMax: 60_000, bytesMax: 13 },
  } as unknown as Parameters<typeof systemFigures>[0]);
  expect(figures).toMatchObject({
    processes: [
      { name: "server" },
      { name: "ingest-0", residentBytes: 1_000, cpuSeconds: 2.5 },
      { name: "", residentBytes: 0, cpuSeconds: 0 },
    ],
    guests: { alive: 2, awaited: 1 },
    disk: { used: { events: 5 }, freeBytes: 11 },
    events: { bytes: 7, oldestAt: 9, retention: { seconds: 60, bytes: 13 } },
  });
  const [server] = figures.processes;
  expect(server!.cpuSeconds).toBeGreaterThanOrEqual(before);
  expect(server!.cpuSeconds).toBeLessThanOrEqual(cpuSeconds());
  expect(server!.residentBytes).toBeGreaterThan(1 << 20);
});

test("the health of a workspace has suspended and slow programs by the revision of the transformation", () => {
  const of = (workspaceId: string, programId: string) => ({ workspaceId, programId });
  const credentials = { key: "s3cret" };
  const suspended = [
    { ...of("w", "v1+l1"), name: "Shop", until: 9, reason: "It fails by s3cret", credentials },
    { ...of("other", "v2"), name: "Else", until: 9, reason: "It fails", credentials },
  ];
  const slow = [
    { ...of("w", "v3+l1+l2"), since: 5 },
    { ...of("other", "v4"), since: 6 },
  ];
  const sandbox = { suspended: () => suspended, slow: () => slow } as never;
  expect(programSuspensions(sandbox, "w")).toEqual([
    { transformationVersionId: "v1", name: "Shop", until: 9, reason: "It fails by ***" },
  ]);
  expect([...slowRevisions(sandbox, "w")]).toEqual([["v3", 5]]);
});

test("the health names a sandbox that has not started, and held deliveries", () => {
  const none = { trouble: () => undefined };
  const told = (state: object, more: object = {}) =>
    readiness({
      ...{
        isOnHold: () => false,
        ingest: { health: () => ({ trouble: "No process", warnings: ["a"] }) },
      },
      backend: {
        ...{ catalog: none, checks: () => ({}), warnings: () => ["c"] },
        logs: { warnings: () => ["b"] },
      },
      ...{ sandbox: { status: () => state }, pipeline: { warnings: () => ["d"] } },
      ...{ backups: { warnings: () => ["e"] }, starting: "Not stored yet" },
      certificates: { data: { warnings: () => ["f"] }, control: { warnings: () => ["g"] } },
      ...more,
    } as unknown as Parameters<typeof readiness>[0]);
  const first = told({ state: "starting", insecure: false });
  expect(first).toEqual({
    ready: false,
    checks: {
      ingest: { ok: false, message: "No process" },
      sandbox: { ok: false, message: "Not started yet" },
      catalog: { ok: false, message: "Not stored yet" },
    },
    warnings: ["a", "b", "c", "d", "e", "f", "g"],
  });
  const second = told(
    { state: "unavailable", reason: "No memory", insecure: true },
    { backups: undefined, isOnHold: () => true },
  );
  expect(second.checks.sandbox).toEqual({ ok: false, message: "No memory" });
  expect(told({ state: "ready", reason: "Insecure" }).checks.sandbox).toEqual({ ok: true });
  expect(second.warnings).toEqual([SANDBOX_INSECURE, DELIVERIES_HELD, ..."abcdfg"]);
});
