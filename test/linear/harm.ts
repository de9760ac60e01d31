import type { Site } from "../crash/site.ts";

/** Failure of a site, and its repair. `goesOn` resolves when all clients get answers again. */
export type Harm = (site: Site, turn: number, goesOn: () => Promise<number>) => Promise<void>;

/** Duration of a hang, longer than the session timeout after which a node is replaced. */
const HANG_MS = 15_000;
/** Duration of a cut, longer than the other brokers need to do without the one that is cut off. */
const CUT_MS = 40_000;

const nodeKilled: Harm = async ({ nodes }, turn, goesOn) => {
  const node = nodes[turn % nodes.length]!;
  await node.kill();
  if (nodes.length > 1) await goesOn();
  await node.start();
};

const brokerKilled: Harm = async ({ brokers }, turn, goesOn) => {
  const index = turn % brokers!.addresses.length;
  await brokers!.kill(index);
  if (brokers!.addresses.length > 1) await goesOn();
  await brokers!.restart(index);
};

/** Hangs a node: calls wait for it, and its answers after the hang must not be stale. */
const nodeHangs: Harm = async ({ nodes }, turn) => {
  const node = nodes[turn % nodes.length]!;
  node.hang();
  await Bun.sleep(HANG_MS);
  node.wake();
};

/** Cuts the broker that leads the catalog from the others; nodes reach all brokers. */
const leaderCut: Harm = async ({ links }) => {
  links!.isolate(await links!.agreedLeaderOf("pixelmill.catalog", 0));
  await Bun.sleep(CUT_MS);
  links!.heal();
};

export const harms = { nodeKilled, brokerKilled, nodeHangs, leaderCut };
