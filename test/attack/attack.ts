/**
 * Attack on a cluster: three nodes on three brokers, whose links are cut, held, delayed and torn,
 * and whose processes are killed and hang, under a load of pixels and API calls. Prints for each
 * fault what clients got meanwhile, what the nodes reported, and the time until every node took
 * everything again. At the end each acknowledged pixel must be at its destination or among the dead
 * letters, in order and under one messageId; a read must never return a state older than a change
 * that was answered before the read began.
 *
 *   npm run attack-cluster [WORD …] [-- --one-order] [--times=N]
 *
 * Runs each fault whose name contains one of the words `N` times, each time at another node or
 * broker where there is a choice. With `--one-order` all nodes name the brokers in the same order.
 * `TEST_EXECUTABLE` is the executable under attack. Exits with 1 on a violation.
 */
import { judged, tellLogs } from "../crash/crash.ts";
import { Load } from "../crash/load.ts";
import type { Node } from "../crash/node.ts";
import { Site } from "../crash/site.ts";
import { type Fault, faults, NODE_DISK_BYTES, type Target, targetOf } from "./faults.ts";
import { figuresOf, type Look, wronglyUnready } from "./figures.ts";

/** Share of a fault's duration after which the nodes are asked for their state. */
const LOOK_AT = 0.75;
/** Pause between two looks at whether a node is ready. */
const READY_MS = 500;
/** Pause between two faults. */
const QUIET_MS = 5_000;
const LOAD = { users: 12, pixelsPerSecond: 40 };
/** Client timeout, longer than any answer may take. */
const PATIENCE_MS = 12_000;

const print = (row: object) => process.stdout.write(`${JSON.stringify(row)}\n`);

async function attack(target: Target, fault: Fault, turn: number): Promise<void> {
  const { nodes, load } = target;
  const faultsBefore = load.faults.length;
  const begunAt = performance.now();
  const looking = looksAt(nodes);
  const end = await fault.begin(target, turn);
  await Bun.sleep(LOOK_AT * fault.holdMs);
  const reports = await Promise.all(nodes.map(reportOf));
  await Bun.sleep(Math.max(0, begunAt + fault.holdMs - performance.now()));
  const endsAt = performance.now();
  await end();
  const taken = await Promise.all(
    nodes.map(async (node) => [node.name, await load.taken(node)] as const),
  );
  const arrivesMs = await load.goesOn();
  const looks = await looking();
  const wrong = wronglyUnready(looks, load.samples);
  print({
    fault: fault.name,
    during: figuresOf(load.samples, begunAt, endsAt),
    reports,
    endMs: Math.round(performance.now() - endsAt),
    taken: Object.fromEntries(taken),
    arrivesMs,
    after: figuresOf(load.samples, endsAt, performance.now()),
    unready: `${looks.filter(({ status }) => status !== 200).length} of ${looks.length} looks`,
    unreadyAlthoughWell: counted(wrong.map(({ node, failed }) => `${node}: ${failed.join("; ")}`)),
    faults: counted(load.faults.slice(faultsBefore)),
  });
}

/** Asks the nodes all the time whether they are ready, until the returned function is called. */
function looksAt(nodes: readonly Node[]): () => Promise<Look[]> {
  const looks: Look[] = [];
  let isOver = false;
  const looking = nodes.map(async (node) => {
    for (; !isOver; await Bun.sleep(READY_MS)) {
      const at = performance.now();
      const { status, body } = await node.api("GET", "/ready");
      looks.push({ node: node.name, at, status, failed: failedOf(body) });
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(looking);
    return looks;
  };
}

const failedOf = (ready: any): string[] =>
  Object.entries<{ ok: boolean; message?: string }>(ready?.checks ?? {})
    .filter(([, { ok }]) => !ok)
    .map(([name, { message }]) => `${name}: ${message}`);

/** The reports of a node about itself and the cluster. */
async function reportOf(node: Node) {
  const [ready, cluster] = await Promise.all(
    ["/ready", "/v2/cluster"].map((path) => node.api("GET", path)),
  );
  const { nodes = [], partitions = [], problems } = cluster!.body ?? {};
  return {
    ...{ node: node.name, ready: ready!.status, failed: failedOf(ready!.body) },
    ...{ warnings: ready!.body?.warnings, problems },
    others: nodes.flatMap((it: any) => it.problems),
    lag: partitions.map((it: any) => it.lagEvents ?? "?").join(" "),
  };
}

/** Each distinct text with the number of its occurrences. */
const counted = (texts: readonly string[]) =>
  [...Map.groupBy(texts, (it) => it)].map(([text, all]) => `${text} (${all.length} times)`);

const flags = process.argv.slice(2);
const words = flags.filter((it) => !it.startsWith("--"));
const times = Number(flags.find((it) => it.startsWith("--times="))?.slice("--times=".length) ?? 1);
const chosen = faults.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
if (chosen.length === 0) {
  throw new Error(`Expected a word of a fault:\n${faults.map(({ name }) => name).join("\n")}`);
}

const site = await Site.open({
  ...{ nodes: 3, brokers: 3, hasLinks: true, isOneOrder: flags.includes("--one-order") },
  ...{ nodeDiskBytes: NODE_DISK_BYTES, patienceMs: PATIENCE_MS },
});
let broken: string[];
try {
  const load = new Load(site, LOAD);
  print({ fault: "none", arrivesMs: await load.goesOn() });
  for (let turn = 0; turn < times; turn++) {
    for (const fault of chosen) {
      await attack(targetOf(site, load), fault, turn);
      await Bun.sleep(QUIET_MS);
    }
  }
  await load.stop();
  await site.drain();
  await load.readEverywhere();
  const { broken: violations, ...report } = await judged(site, load);
  print(report);
  for (const line of counted(violations)) process.stdout.write(`BROKEN ${line}\n`);
  broken = violations;
} catch (error) {
  tellLogs(site);
  throw error;
} finally {
  await site.close();
}
process.exit(broken.length === 0 ? 0 : 1);
