import { readFileSync } from "node:fs";

/** Files that take long; each starts early, in a process of its own, so that none is the last. */
export const slowFiles = [
  "test/sandbox/hostile/hostile.test.ts",
  "test/sandbox/python/hostile.test.ts",
  "test/console/axe.test.ts",
  "test/e2e/shutdown.test.ts",
  "test/ingest/ingest.test.ts",
  "test/publishing/python.test.ts",
  "test/console/code.test.ts",
  "test/e2e/command-line.test.ts",
  "test/sandbox/python/isolation.test.ts",
  "test/pipeline/simulation.test.ts",
  "test/catalog/state-machine.test.ts",
  "test/ingest/slow-clients.test.ts",
  "test/pipeline/gathering.test.ts",
  "test/event/allocation.test.ts",
];
/** Rooms whose files start guests, browsers or servers. */
const slowRooms = ["sandbox", "console", "e2e", "publishing", "destinations", "ingest"];

const SLOW_FILES_PER_PROCESS = 4;
const FILES_PER_PROCESS = 12;

/** Groups files into processes, in the order of their start: what takes long starts first. */
export function shardsOf(files: string[]): string[][] {
  const three = files.filter((file) => brokersOf(file) === "three");
  const one = files.filter((file) => brokersOf(file) === "one");
  const alone = files.filter((file) => file.includes(".long.")).map((file) => [file]);
  for (const file of slowFiles) if (files.includes(file)) alone.push([file]);
  const placed = new Set([...three, ...one, ...alone.flat()]);
  const rest = files.filter((file) => !placed.has(file));
  const isSlow = (file: string) => slowRooms.includes(file.split("/")[1]!);
  return [
    ...[three, one].filter((files) => files.length > 0),
    ...alone,
    ...chunksOf(rest.filter(isSlow), SLOW_FILES_PER_PROCESS),
    ...chunksOf(
      rest.filter((file) => !isSlow(file)),
      FILES_PER_PROCESS,
    ),
  ];
}

/** The shared brokers that a file uses: all files of one set run in one process. */
function brokersOf(file: string): "one" | "three" | undefined {
  if (file.includes(".long.")) return undefined;
  const text = readFileSync(file, "utf8");
  if (/withBrokers\(3/.test(text)) return "three";
  return /withBrokers\(1|sharedBrokers\(1|GuardedBroker\(/.test(text) ? "one" : undefined;
}

function chunksOf<T>(items: T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  const at = (chunk: number) => Math.round((chunk * items.length) / count);
  return Array.from({ length: count }, (_, chunk) => items.slice(at(chunk), at(chunk + 1)));
}
