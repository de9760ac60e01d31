import type { Site } from "../crash/site.ts";

/** Failure of a site, and its repair. `goesOn` resolves when all clients get answers again. */
export type Harm = (site: Site, turn: number, goesOn: () => Promise<number>) => Promise<void>;

/** Duration of a hang, longer than the session timeout after which a node is replaced. */
const HANG_MS = 15_000;

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

export const harms = { nodeKilled, brokerKilled, nodeHangs };
