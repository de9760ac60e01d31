import type { Logger } from "../observe/log.ts";
import type { Entry, Follower, OrderedLog } from "../store/ordered-log.ts";
import type { Clients } from "./client.ts";
import { type Fetched, Fetcher } from "./fetcher.ts";
import { Sender } from "./sender.ts";
import { ensureTopic } from "./topics.ts";

export interface OrderedTopicOptions {
  clients: Clients;
  /** Name of the topic, which has one partition. */
  name: string;
  /** Brokers that have a copy. */
  replicas: number;
  logger: Logger;
}

/** How long a broker waits for the next entry before it says that there is none. */
const FOLLOW_MS = 500;
/** Between two attempts to read from brokers that do not answer. */
const RETRY_MS = 250;

/** Opens a topic of one partition as an ordered log. Throws `StartError` as `ensureTopic` does. */
export async function openOrderedTopic(options: OrderedTopicOptions): Promise<OrderedLog> {
  const { clients, name, replicas } = options;
  await ensureTopic(clients.admin(), { name, partitions: 1, replicas });
  const sender = new Sender(clients.producer(), name);
  const asker = new Fetcher({ consumer: clients.reader(), topic: name, waitMs: 0 });
  let trouble: string | undefined;
  return {
    async append(entry) {
      await sender.send(0, Buffer.from(entry));
    },
    async end() {
      return Number((await asker.offsets("end"))[0]);
    },
    follow(position, take) {
      const tell = (reason: string | undefined) => {
        trouble = reason;
      };
      return followTopic(options, position, take, tell);
    },
    trouble: () => trouble,
  };
}

function followTopic(
  { clients, name, logger }: OrderedTopicOptions,
  position: number,
  take: (entries: readonly Entry[]) => Promise<void>,
  tell: (trouble: string | undefined) => void,
): Follower {
  const consumer = clients.reader();
  const fetcher = new Fetcher({ consumer, topic: name, waitMs: FOLLOW_MS });
  let next = BigInt(position);
  const stop = Promise.withResolvers<undefined>();
  let isOpen = true;

  async function step(): Promise<void> {
    const fetched = await Promise.race([fetcher.fetch(0, next), stop.promise]);
    if (fetched === undefined) return;
    expectUnbroken(fetched, next, name);
    tell(undefined);
    const last = fetched.values.at(-1);
    if (last === undefined) return;
    await take(fetched.values.map((it) => ({ position: Number(it.offset), bytes: it.value })));
    next = last.offset + 1n;
  }

  const following = (async () => {
    let isTold = false;
    while (isOpen) {
      try {
        await step();
        if (isTold) logger.info({ topic: name }, "The topic can be read again");
        isTold = false;
      } catch (err) {
        tell(`The topic ${name} cannot be read`);
        if (!isTold) logger.error({ err, topic: name }, "The topic cannot be read");
        isTold = true;
        await Promise.race([Bun.sleep(RETRY_MS), stop.promise]);
      }
    }
  })();
  return {
    async close() {
      isOpen = false;
      stop.resolve(undefined);
      await following;
    },
  };
}

/** A log that starts behind what is read, or ends before it, is not the one that was read so far. */
function expectUnbroken({ first, end, isOutside }: Fetched, next: bigint, name: string): void {
  if (!isOutside) return;
  const kept = `has entries ${first} to ${end}`;
  throw new Error(`Expected entry ${next} of the topic ${name} to be the next, but it ${kept}`);
}
