import type { Site } from "../crash/site.ts";

/** Harm that is done to a site and healed again, while `goesOn` says when clients are answered. */
export type Harm = (site: Site, turn: number, goesOn: () => Promise<number>) => Promise<void>;

/** Longer than a node may be unheard of before it is replaced. */
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

/** Calls wait for a node that hangs: what it answers when it wakes must not be of before. */
const nodeHangs: Harm = async ({ nodes }, turn) => {
  const node = nodes[turn % nodes.length]!;
  node.hang();
  await Bun.sleep(HANG_MS);
  node.wake();
};

export const harms = { nodeKilled, brokerKilled, nodeHangs };
