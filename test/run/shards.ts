import { readFileSync } from "node:fs";

/**
 * Files that take long, the longest first; each starts early, in a process of its own or with files
 * that use the same brokers or browser, so that none is the last.
 */
export const slowFiles = [
  "test/mutate/mutants.long.test.ts",
  "test/watching/troubles.long.test.ts",
  "test/package/packages.long.test.ts",
  "test/sandbox/hostile/hostile.test.ts",
  "test/sandbox/python/hostile.test.ts",
  "test/console/axe-states.long.test.ts",
  "test/attack/attack.long.test.ts",
  "test/cluster/linked-brokers.long.test.ts",
  "test/crash/crash.long.test.ts",
  "test/console/many-destinations.test.ts",
  "test/console/destination-form.test.ts",
  "test/console/dead-letters.test.ts",
  "test/api/code/run.test.ts",
  "test/api/request/request-deadline.test.ts",
  "test/sandbox/scheduling/guest-pool.test.ts",
  "test/sandbox/python/limits.test.ts",
  "test/console/story.test.ts",
  "test/destinations/clickhouse/clickhouse.test.ts",
  "test/console/axe.test.ts",
  "test/sandbox/run.test.ts",
  "test/console/recovery.long.test.ts",
  "test/console/editor.test.ts",
  "test/console/conflicts.test.ts",
  "test/e2e/shutdown.test.ts",
  "test/ingest/ingest.test.ts",
  "test/destinations/postgres/postgres.test.ts",
  "test/destinations/kafka.test.ts",
  "test/console/code.test.ts",
  "test/console/tail.test.ts",
  "test/console/access.test.ts",
  "test/e2e/hostile-code.test.ts",
  "test/e2e/command-line.test.ts",
  "test/pipeline/gathering.test.ts",
  "test/destinations/evolution.test.ts",
  "test/ingest/hung.long.test.ts",
  "test/api/request/hostile.test.ts",
  "test/http/server.test.ts",
  "test/ingest/slow-clients.test.ts",
  "test/sandbox/python/check.test.ts",
];
/** Rooms whose files start guests, browsers or servers. */
const slowRooms = ["sandbox", "console", "e2e", "publishing", "destinations", "ingest"];
/**
 * Rooms whose files start lanes, an API or commands: quicker than those, and slower than all
 * others.
 */
const laneRooms = ["alerts", "api", "catalog", "docs", "pipeline", "store", "transformer"];

/** Number of processes that share the files of the console, each with one browser. */
const BROWSER_PROCESSES = 4;
const SLOW_FILES_PER_PROCESS = 10;
const FILES_PER_PROCESS_MAX = 14;
/**
 * Number of processes that the other files are at least divided among, so that none ends last
 * alone.
 */
const PROCESSES_MIN = 24;

/** Groups files into processes, in the order of their start: what takes long starts first. */
export function shardsOf(files: string[]): string[][] {
  const withBrokers = brokerGroups(files);
  const withBrowser = browserGroups(files);
  const placed = new Set([...withBrokers, ...withBrowser].flat());
  const isAlone = (file: string) => slowFiles.includes(file) || file.includes(".long.");
  const alone = [...slowFiles, ...files.filter((file) => !slowFiles.includes(file))]
    .filter((file) => files.includes(file) && !placed.has(file) && isAlone(file))
    .map((file) => [file]);
  for (const [file] of alone) placed.add(file!);
  const rest = files.filter((file) => !placed.has(file));
  const isOf = (rooms: string[]) => (file: string) => rooms.includes(file.split("/")[1]!);
  const isSlow = isOf(slowRooms);
  const hasLanes = isOf(laneRooms);
  const others = rest.filter((file) => !isSlow(file));
  const perProcess = Math.floor(others.length / PROCESSES_MIN);
  const size = Math.min(FILES_PER_PROCESS_MAX, Math.max(1, perProcess));
  // The shortest groups start last, so that no process ends long after the others.
  return [
    ...withBrokers,
    ...withBrowser,
    ...alone,
    ...chunksOf(rest.filter(isSlow), SLOW_FILES_PER_PROCESS),
    // They load and compile nearly the same modules.
    ...chunksOf(others.filter(hasLanes), 2 * size),
    ...chunksOf(
      others.filter((file) => !hasLanes(file)),
      size,
    ),
  ];
}

/**
 * Files that use shared brokers: all files of one set of brokers run in one process, except those
 * of a single broker, which are two processes so that none takes as long as all others together.
 */
function brokerGroups(files: string[]): string[][] {
  const sets = Map.groupBy(files, brokersOf);
  const one = sets.get("one") ?? [];
  const nodes = one.filter((file) => /startServer\(/.test(readFileSync(file, "utf8")));
  const others = one.filter((file) => !nodes.includes(file));
  const guarded = sets.get("guarded") ?? [];
  return [sets.get("three") ?? [], nodes, others, guarded].filter((group) => group.length > 0);
}

/**
 * Files of the quick tier that open a browser, dealt out among few processes, the slow ones first:
 * each process takes a second of CPU time to start a browser and to load the API and its client.
 */
function browserGroups(files: string[]): string[][] {
  const own = files.filter((file) => usesBrowser(file) && !file.includes(".long."));
  const slow = slowFiles.filter((file) => own.includes(file));
  const all = [...slow, ...own.filter((file) => !slow.includes(file))];
  // There and back again, so that no process has the slowest of each round.
  const turns = Array.from({ length: BROWSER_PROCESSES }, (_, process) => process);
  const rounds = [...turns, ...turns.toReversed()];
  return [...Map.groupBy(all, (file) => rounds[all.indexOf(file) % rounds.length]).values()];
}

export const usesBrowser = (file: string) =>
  /useConsole\(|sharedBrowser\(/.test(readFileSync(file, "utf8"));

/** The set of shared brokers that a file uses. */
export function brokersOf(file: string): "one" | "three" | "guarded" | undefined {
  const text = readFileSync(file, "utf8");
  if (/withBrokers\(3/.test(text)) return "three";
  if (/sharedGuardedBroker\(/.test(text)) return "guarded";
  return /withBrokers\(1|sharedBrokers\(1/.test(text) ? "one" : undefined;
}

function chunksOf<T>(items: T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  const at = (chunk: number) => Math.round((chunk * items.length) / count);
  return Array.from({ length: count }, (_, chunk) => items.slice(at(chunk), at(chunk + 1)));
}
