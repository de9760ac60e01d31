import type { Load } from "./load.ts";
import type { Site } from "./site.ts";

export interface Act {
  name: string;
  /** Causes the failure and ends it; returns the recovery time of all users in ms, by phase. */
  run(site: Site, load: Load, turn: number): Promise<Record<string, number>>;
}

export interface ActOptions {
  /** Duration of a hang, longer than the session timeout after which a node is replaced. */
  hangMs: number;
  /** Duration of an outage of all brokers. */
  awayMs: number;
  /**
   * Executables between which the nodes change, one node after the other, before each failure. The
   * nodes run with two versions most of the time. Absent: no changes.
   */
  versions?: readonly string[];
}

/** Failures that a site can have, one for each round; some need brokers or other nodes. */
export function actsOf(site: Site, options: ActOptions): Act[] {
  const failures = failuresOf(site, options);
  const { versions = [] } = options;
  if (versions.length < 2) return failures;
  let changes = 0;
  const versionChanged: Act = {
    name: "a node changes its version",
    async run({ nodes }, load) {
      const node = nodes[changes % nodes.length]!;
      const version = 1 + Math.floor(changes / nodes.length);
      changes += 1;
      node.command = [versions[version % versions.length]!];
      await node.stop();
      await node.start();
      return { with: await load.goesOn() };
    },
  };
  return failures.flatMap((failure) => [versionChanged, failure]);
}

function failuresOf(site: Site, { hangMs, awayMs }: ActOptions): Act[] {
  const { brokers } = site;
  /** Measures recovery on the other nodes while one is down; a single node has none. */
  const without = async (load: Load): Promise<Record<string, number>> =>
    site.nodes.length > 1 ? { without: await load.goesOn() } : {};
  const node = (turn: number) => site.nodes[turn % site.nodes.length]!;

  const nodeKilled: Act = {
    name: "a node is killed",
    async run(_, load, turn) {
      await node(turn).kill();
      const figures = await without(load);
      await node(turn).start();
      return { ...figures, with: await load.goesOn() };
    },
  };
  const nodeHangs: Act = {
    name: "a node hangs",
    async run(_, load, turn) {
      node(turn).hang();
      const [figures] = await Promise.all([without(load), Bun.sleep(hangMs)]);
      node(turn).wake();
      return { ...figures, with: await load.goesOn() };
    },
  };
  const allRestarted: Act = {
    name: "all nodes are restarted",
    async run({ nodes }, load, turn) {
      await Promise.all(nodes.map((it) => (turn % 2 === 0 ? it.stop() : it.kill())));
      await Promise.all(nodes.map((it) => it.start()));
      return { with: await load.goesOn() };
    },
  };
  if (brokers === undefined) return [nodeKilled, nodeHangs, allRestarted];

  const indexes = brokers.addresses.map((_, index) => index);
  const brokerKilled: Act = {
    name: "a broker is killed",
    async run(_, load, turn) {
      const index = turn % indexes.length;
      await brokers.kill(index);
      const figures = indexes.length > 1 ? { without: await load.goesOn() } : {};
      await brokers.restart(index);
      return { ...figures, with: await load.goesOn() };
    },
  };
  const brokerHangs: Act = {
    name: "a broker stands still",
    async run(_, load, turn) {
      const pid = brokers.pids()[turn % indexes.length]!;
      process.kill(pid, "SIGSTOP");
      const [figures] = await Promise.all([
        indexes.length > 1 ? load.goesOn().then((ms) => ({ without: ms })) : {},
        Bun.sleep(hangMs),
      ]);
      process.kill(pid, "SIGCONT");
      return { ...figures, with: await load.goesOn() };
    },
  };
  const brokersAway: Act = {
    name: "all brokers are away",
    async run(_, load) {
      await Promise.all(indexes.map((it) => brokers.kill(it)));
      await Bun.sleep(awayMs);
      await Promise.all(indexes.map((it) => brokers.restart(it)));
      return { with: await load.goesOn() };
    },
  };
  const acts = [nodeKilled, brokerKilled, nodeHangs, allRestarted, brokersAway, brokerHangs];
  if (!brokers.haveDisks) return acts;

  /** Fills the disks of some brokers; a broker that cannot write exits. */
  const whileFull = async (full: number[], then: () => Promise<Record<string, number>>) => {
    for (const index of full) brokers.fill(index);
    const figures = await then();
    await Promise.all(full.map((index) => brokers.ended(index)));
    for (const index of full) brokers.makeSpace(index);
    await Promise.all(full.map((index) => brokers.restart(index)));
    return figures;
  };
  const diskFull: Act = {
    name: "a broker's disk is full",
    async run(_, load, turn) {
      const index = turn % indexes.length;
      const figures = await whileFull([index], async () => {
        await brokers.ended(index);
        return indexes.length > 1 ? { without: await load.goesOn() } : {};
      });
      return { ...figures, with: await load.goesOn() };
    },
  };
  const disksFull: Act = {
    name: "most or all brokers' disks are full",
    async run(_, load, turn) {
      const full = turn % 2 === 0 ? indexes : indexes.slice(1);
      const figures = await whileFull(full, () => load.isRefused());
      return { ...figures, with: await load.goesOn() };
    },
  };
  return [...acts, diskFull, disksFull];
}
