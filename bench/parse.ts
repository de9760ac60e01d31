/**
 * Measures parsing a query of 25 parameters into the event's JSON bytes: by pixelmill, and by
 * parsers of the platform and of npm, which write the same bytes, in alternating rounds. Then
 * measures the slowest legal queries of 32 KB.
 *
 *   bun bench/parse.ts [--rounds 60]
 */
import { parseArgs } from "node:util";
import { writeEvent } from "../src/event/event.ts";
import { inspectQuery } from "../src/event/inspect.ts";
import { recordOf } from "../test/event/agreement.ts";
import { worstQueries } from "../test/event/worst.ts";
import { QUERY } from "./parse-query.ts";
import { toJson, work } from "./parsers.ts";
import { report } from "./report.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "60" } } });
const rounds = Number(values.rounds);
const ROUND_MS = 5;
const WARM_MS = 1_500;

const expected = Buffer.from(toJson.pixelmill!()).toString();
for (const [name, parse] of Object.entries(toJson)) {
  if (Buffer.from(parse()).toString() !== expected) throw new Error(`${name} writes other bytes`);
}

/** Runs an operation for about `ms` milliseconds; returns nanoseconds per operation. */
function run(operation: () => unknown, ms: number): number {
  const startedAt = Bun.nanoseconds();
  let done = 0;
  while (Bun.nanoseconds() - startedAt < ms * 1e6) {
    for (let i = 0; i < 100; i++) operation();
    done += 100;
  }
  return (Bun.nanoseconds() - startedAt) / done;
}

/** Bytes that a process without garbage collection allocates per operation. */
async function allocated(name: string): Promise<number> {
  const count = name === "pixelmill" ? 1_000_000 : 2_000;
  const child = Bun.spawn(
    [process.execPath, `${import.meta.dir}/parse-growth.ts`, name, `${count}`],
    {
      env: { ...process.env, BUN_JSC_useGC: "0" },
    },
  );
  return Number(await new Response(child.stdout).text());
}

// The minimum of many short rounds excludes disturbance by other load of the machine.
const best = new Map(Object.keys(work).map((name) => [name, Number.POSITIVE_INFINITY]));
for (const parse of Object.values(work)) run(parse, WARM_MS);
for (let round = 0; round < rounds; round++) {
  for (const [name, parse] of Object.entries(work)) {
    best.set(name, Math.min(best.get(name)!, run(parse, ROUND_MS)));
  }
}
const ours = best.get("pixelmill")!;
const rows = [];
for (const [name, ns] of best) {
  rows.push({
    parser: name,
    "ns to JSON bytes": Math.round(ns),
    "ratio to pixelmill": Math.round((ns / ours) * 10) / 10,
    "bytes allocated": Math.max(0, Math.round(await allocated(name))),
    parameters: QUERY.split("&").length,
    "query bytes": QUERY.length,
  });
}
await report("parse", rows);

const worst = Object.entries(worstQueries).map(([name, query]) => {
  const record = recordOf(query);
  const inspect = () => inspectQuery(query, "page");
  const write = () => writeEvent(record);
  const least = (operation: () => unknown) => {
    for (let i = 0; i < 200; i++) operation();
    return Math.min(...Array.from({ length: 50 }, () => timed(operation)));
  };
  const row = { inspectMs: least(inspect), eventMs: least(write) };
  return {
    query: name,
    "query bytes": query.length,
    "inspect ms": Number(row.inspectMs.toFixed(3)),
    "event ms": Number(row.eventMs.toFixed(3)),
  };
});

function timed(operation: () => unknown): number {
  const startedAt = performance.now();
  operation();
  return performance.now() - startedAt;
}
await report("parse-worst", worst);

const WORST_MS_MAX = 2;
const slow = worst.filter((row) => row["inspect ms"] + row["event ms"] > WORST_MS_MAX);
if (slow.length > 0) throw new Error(`Over ${WORST_MS_MAX} ms: ${slow.map((row) => row.query)}`);
