import { readFileSync } from "node:fs";
import { dirname } from "node:path";

/** Files that take long start first, each in a process of its own, so that none is the last. */
const slow: string[] = [];

const FILES_PER_SHARD = 8;

/**
 * Groups files into processes, in the order of their start: files that share brokers, slow files,
 * then the files of each folder in groups.
 */
export function shardsOf(files: string[]): string[][] {
  const ofBrokers: Record<string, string[]> = { three: [], one: [] };
  const alone: string[] = [];
  const byFolder = new Map<string, string[]>();
  for (const file of files) {
    const brokers = brokersOf(file);
    if (brokers !== undefined) ofBrokers[brokers]!.push(file);
    else if (slow.includes(file)) alone.push(file);
    else byFolder.set(dirname(file), [...(byFolder.get(dirname(file)) ?? []), file]);
  }
  alone.sort((a, b) => slow.indexOf(a) - slow.indexOf(b));
  const groups = [...byFolder.values()].flatMap((files) => chunksOf(files, FILES_PER_SHARD));
  groups.sort((a, b) => b.length - a.length);
  return [...Object.values(ofBrokers), ...alone.map((file) => [file]), ...groups].filter(
    (shard) => shard.length > 0,
  );
}

/** Whether a file uses the shared brokers, and which. */
function brokersOf(file: string): "one" | "three" | undefined {
  const text = readFileSync(file, "utf8");
  if (/withBrokers\(3/.test(text)) return "three";
  return /withBrokers\(1|sharedBrokers\(1|GuardedBroker\(/.test(text) ? "one" : undefined;
}

function chunksOf<T>(items: T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, at) => items.filter((_, i) => i % count === at));
}
