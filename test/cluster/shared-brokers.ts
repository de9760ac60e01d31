import { connectClients } from "../../src/kafka/client.ts";
import { onRunEnd } from "../shared.ts";
import { mountMissing } from "../small-disk.ts";
import { type Brokers, startBrokers } from "./brokers.ts";

/** Three brokers have a disk each, which a test can fill. */
const DISK_BYTES = 128 << 20;

const started = new Map<string, Promise<Brokers>>();

/**
 * Brokers that the test files of this process share, one set of each size. Each file gets
 * them running and without topics of the file before; they end with the process.
 */
export async function sharedBrokers(count: 1 | 3): Promise<Brokers> {
  const options = count === 3 && mountMissing === undefined ? { diskBytes: DISK_BYTES } : {};
  const brokers = await shared(`${count} plain`, () => startBrokers(count, [], options));
  return { ...brokers, stop: async () => {} };
}

/** The brokers under this key, cleaned, or those that `start` makes. */
export async function shared<T extends Brokers>(key: string, start: () => Promise<T>): Promise<T> {
  const known = started.get(key) as Promise<T> | undefined;
  if (known !== undefined) {
    const brokers = await known;
    await clean(brokers);
    return brokers;
  }
  const starting = start();
  started.set(key, starting);
  onRunEnd(async () => await (await starting).stop());
  return await starting;
}

async function clean(brokers: Brokers): Promise<void> {
  const stopped = brokers.addresses.map((_, index) => index).filter((it) => !brokers.isRunning(it));
  await Promise.all(stopped.map((index) => brokers.restart(index)));
  const clients = await connectClients({ brokers: brokers.addresses });
  try {
    const admin = clients.admin();
    const topics = (await admin.listTopics()).filter((name) => !name.startsWith("__"));
    if (topics.length > 0) await admin.deleteTopics({ topics });
  } finally {
    await clients.close();
  }
}
