import { rmSync } from "node:fs";
import { join } from "node:path";
import type { LinkedBrokers } from "../cluster/linked-brokers.ts";
import type { Load } from "../crash/load.ts";
import type { Node } from "../crash/node.ts";
import type { Site } from "../crash/site.ts";
import { fillDisk, makeSpace, mountMissing } from "../small-disk.ts";

/** A cluster whose links can be disturbed, with its load. */
export interface Target {
  nodes: Node[];
  brokers: LinkedBrokers;
  load: Load;
}

export interface Fault {
  name: string;
  /** How long it lasts once `begin` has resolved. */
  holdMs: number;
  /** Causes the fault; resolves with the function that ends it. `turn` varies whom it hits. */
  begin(target: Target, turn: number): Promise<() => unknown>;
}

export const targetOf = ({ nodes, links }: Site, load: Load): Target => ({
  nodes,
  brokers: links!,
  load,
});

/** Size of a node's disk that can be filled. */
export const NODE_DISK_BYTES = 192 << 20;

const catalogLeader = ({ brokers }: Target) => brokers.agreedLeaderOf("pixelmill.catalog", 0);
const pick = <T>(items: readonly T[], turn: number) => items[turn % items.length]!;
const indexes = [0, 1, 2];

/** Cuts the broker that leads the catalog from the others, then does something to a node. */
function leaderCut(name: string, holdMs: number, then: (node: Node) => () => unknown): Fault {
  return {
    ...{ name, holdMs },
    async begin(target, turn) {
      const leader = await catalogLeader(target);
      target.brokers.isolate(leader);
      // The node that names the leader first, and the one that does not, in turns.
      const end = then(pick(target.nodes, leader + turn));
      return async () => {
        target.brokers.heal();
        await end();
      };
    },
  };
}

/** Runs an action a while after a fault has begun; the returned function waits for it. */
function after(ms: number, act: () => Promise<unknown>): () => Promise<unknown> {
  const acted = Bun.sleep(ms).then(act);
  return () => acted;
}

/** Disturbs all links of one node. */
function nodeLinks(
  name: string,
  holdMs: number,
  disturb: (link: ReturnType<LinkedBrokers["nodeLink"]>) => void,
): Fault {
  return {
    ...{ name, holdMs },
    async begin({ brokers, nodes }, turn) {
      for (const broker of indexes) disturb(brokers.nodeLink(turn % nodes.length, broker));
      return () => brokers.heal();
    },
  };
}

/** Kills some brokers, and starts them again in the end. */
function brokersKilled(
  name: string,
  holdMs: number,
  whom: (target: Target, turn: number) => Promise<number[]> | number[],
): Fault {
  return {
    ...{ name, holdMs },
    async begin(target, turn) {
      const killed = await whom(target, turn);
      await Promise.all(killed.map((it) => target.brokers.kill(it)));
      return () => Promise.all(killed.map((it) => target.brokers.restart(it)));
    },
  };
}

/** Stops some brokers by SIGSTOP, and wakes them in the end. */
function brokersHang(
  name: string,
  holdMs: number,
  whom: (target: Target) => Promise<number[]> | number[],
): Fault {
  return {
    ...{ name, holdMs },
    async begin(target) {
      const pids = (await whom(target)).map((it) => target.brokers.pids()[it]!);
      for (const pid of pids) process.kill(pid, "SIGSTOP");
      return () => {
        for (const pid of pids) process.kill(pid, "SIGCONT");
      };
    },
  };
}

function nodeHangs(seconds: number): Fault {
  return {
    ...{ name: `a node hangs for ${seconds} s`, holdMs: seconds * 1_000 },
    async begin({ nodes }, turn) {
      const node = pick(nodes, turn);
      node.hang();
      return () => node.wake();
    },
  };
}

/** Stops a node's process in some way, and starts it again in the end. */
function nodeStopped(name: string, holdMs: number, stop: (node: Node) => Promise<unknown>): Fault {
  return {
    ...{ name, holdMs },
    async begin({ nodes }, turn) {
      const node = pick(nodes, turn);
      await stop(node);
      return () => node.start();
    },
  };
}

const diskFull: Fault = {
  name: "the disk of a node is full",
  holdMs: 35_000,
  async begin({ nodes }, turn) {
    const { directory } = pick(nodes, turn);
    fillDisk(directory);
    return () => makeSpace(directory);
  },
};

/** Faults of brokers, nodes, and the links between them. */
export const faults: Fault[] = [
  leaderCut("the catalog's leader is cut off from the other brokers", 40_000, () => () => {}),
  {
    name: "two brokers do not reach each other",
    holdMs: 40_000,
    async begin(target) {
      const leader = await catalogLeader(target);
      target.brokers.cut(leader, (leader + 1) % indexes.length);
      return () => target.brokers.heal();
    },
  },
  {
    name: "the group coordinator is cut off from the other brokers, then a node stops",
    holdMs: 70_000,
    async begin({ brokers, nodes }, turn) {
      brokers.isolate(await brokers.coordinator());
      const node = pick(nodes, turn);
      const stopped = after(20_000, () => node.stop());
      return async () => {
        brokers.heal();
        await stopped();
        await node.start();
      };
    },
  },
  leaderCut("the catalog's leader is cut off, then a node is killed", 60_000, (node) => {
    const killed = after(15_000, () => node.kill());
    return () => killed().then(() => node.start());
  }),
  leaderCut("the catalog's leader is cut off, then a node restarts", 60_000, (node) =>
    after(20_000, () => node.stop().then(() => node.start())),
  ),
  nodeLinks("a node is cut off from all brokers", 30_000, (link) => link.hold()),
  nodeLinks("brokers refuse the connections of a node", 20_000, (link) => link.refuse()),
  nodeLinks("a node gets no responses of brokers", 20_000, (link) => link.hold("responses")),
  {
    name: "a node is cut off from the catalog's leader",
    holdMs: 35_000,
    async begin(target, turn) {
      const { brokers, nodes } = target;
      brokers.nodeLink(turn % nodes.length, await catalogLeader(target)).hold();
      return () => brokers.heal();
    },
  },
  ...[200, 800, 2_000].map((ms) =>
    nodeLinks(`brokers are ${ms} ms away from a node`, 15_000, (link) => {
      link.delayMs = ms;
    }),
  ),
  {
    name: "connections between nodes and brokers break in the middle of a message",
    holdMs: 20_000,
    async begin({ brokers, nodes }) {
      for (const node of nodes.keys()) {
        for (const broker of indexes) brokers.nodeLink(node, broker).tornShare = 0.02;
      }
      return () => brokers.heal();
    },
  },
  brokersKilled("the catalog's leader is killed", 30_000, async (target) => [
    await catalogLeader(target),
  ]),
  brokersKilled("two brokers are killed", 25_000, (_, turn) =>
    indexes.filter((it) => it !== turn % indexes.length),
  ),
  brokersKilled("all brokers are killed", 60_000, () => indexes),
  brokersHang("the catalog's leader hangs", 13_000, async (target) => [
    await catalogLeader(target),
  ]),
  brokersHang("all brokers hang", 40_000, () => indexes),
  nodeHangs(13),
  nodeHangs(34),
  nodeStopped("a node is killed", 20_000, (node) => node.kill()),
  nodeStopped("a node stops", 10_000, (node) => node.stop()),
  nodeStopped("a node is killed and loses its data directory", 5_000, async (node) => {
    await node.kill();
    rmSync(join(node.directory, "data"), { recursive: true, force: true });
  }),
  ...(mountMissing === undefined ? [diskFull] : []),
  {
    name: "a node hangs, a broker is killed, and another one is silent to a node",
    holdMs: 14_000,
    async begin({ brokers, nodes }, turn) {
      const [node, killed, silent] = [pick(nodes, turn), turn % 3, (turn + 1) % 3];
      node.hang();
      await brokers.kill(killed);
      brokers.nodeLink((turn + 1) % nodes.length, silent).hold("responses");
      return async () => {
        node.wake();
        brokers.heal();
        await brokers.restart(killed);
      };
    },
  },
];
