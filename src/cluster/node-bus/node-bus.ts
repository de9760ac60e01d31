import { Packr } from "msgpackr";
import { assert } from "../../assert.ts";
import { OneTimeEvent } from "../../concurrency/one-time-event.ts";
import { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import type { Logger } from "../../observe/log.ts";
import { ensureTopic, type TopicOpening } from "../topics/ensure-topic.ts";
import { Fetcher } from "../topics/fetcher.ts";
import { describeWriteRefusal } from "../topics/write-refusal.ts";
import { MessagePassage } from "./message-passage.ts";

/**
 * Broadcasts messages to all other nodes of the cluster. A node that is stopped or cannot reach the
 * brokers misses messages.
 */
export type NodeBus = Awaited<ReturnType<typeof openNodeBus>>;

/**
 * Version of the message format. It is raised by each format change that older releases would
 * misread.
 */
const FORMAT = 1;
/**
 * Largest total size in bytes of messages that wait to be sent. A message that would exceed it is
 * dropped.
 */
const WAITING_BYTES_MAX = 4 << 20;
/**
 * Largest size in bytes of a message, and of all messages in one Kafka record together. A larger
 * message is dropped.
 */
const VALUE_BYTES_MAX = 512 << 10;
const FOLLOW_MS = 1_000;
const RETRY_MS = 250;
/**
 * Age in milliseconds at which brokers delete messages from the topic. Nodes read messages soon
 * after they are sent, so they need no older ones.
 */
const KEPT_MS = 60_000;
const KEPT_BYTES = 64 << 20;

const packr = new Packr({ useRecords: false });

/**
 * Opens the node bus, which broadcasts messages between the nodes over a Kafka topic. Creates a
 * missing topic. Throws `StartError` when the topic cannot be created, or has settings with which
 * messages could be lost.
 */
export async function openNodeBus({ clients, name: topic, replicas, logger }: TopicOpening) {
  const retention = { ms: KEPT_MS, bytes: KEPT_BYTES };
  const settings = { name: topic, partitions: 1, replicas, retention, hasBrokerTimes: true };
  await ensureTopic(clients.admin(), settings);
  const author = crypto.randomUUID();
  const listeners = new Set<(message: unknown) => void>();
  const producer = new IdempotentProducer({ producer: clients.producer(), topic });
  const passage = new MessagePassage();
  const publish = createPublisher(producer, author, passage);
  const receiving = receive(
    new Fetcher({ consumer: clients.fetchConsumer(), topic, waitMs: FOLLOW_MS }),
    logger,
    (value) => {
      const [format, from, messages] = decode(value);
      if (format > FORMAT) warnNewer(format);
      if (from === author) passage.read();
      if (format !== FORMAT || from === author) return;
      for (const message of messages) for (const listener of listeners) listener(message);
    },
  );
  let isWarned = false;
  function warnNewer(format: number): void {
    if (!isWarned) logger.warn({ format, known: FORMAT }, "message of a newer node ignored");
    isWarned = true;
  }
  return {
    /**
     * Queues a message for all other nodes. Drops the message if it is larger than
     * `VALUE_BYTES_MAX`, or if the size of the waiting messages would exceed `WAITING_BYTES_MAX`.
     */
    publish,
    /**
     * Calls the listener with each message of other nodes, until the returned function is called.
     */
    subscribe(listener: (message: unknown) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /**
     * Returns a sentence that says why this node's messages do not reach the topic or are not read
     * back. Returns `undefined` while they reach the topic and are read back.
     */
    trouble() {
      if (passage.isWorking()) return undefined;
      const reason = describeWriteRefusal(producer.refusal(0));
      return passage.isWritten
        ? `${topic}, over which the nodes ask each other, is not read back by this node`
        : `${topic}, over which the nodes ask each other, is not written: ${reason}`;
    },
    async close() {
      listeners.clear();
      await receiving.close();
    },
  };
}

/**
 * Creates the function that publishes a message to the other nodes. One Kafka record is in flight
 * at a time; messages published during that time share the next record.
 */
function createPublisher(producer: IdempotentProducer, author: string, passage: MessagePassage) {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  let sending = false;

  async function send(): Promise<void> {
    sending = true;
    while (waiting.length > 0) {
      const value = Buffer.from(packr.encode([FORMAT, author, take()]));
      passage.sent();
      await producer
        .send(0, () => value)
        .then(
          () => passage.wrote(true),
          () => passage.wrote(false),
        );
    }
    sending = false;
  }

  function take(): Uint8Array[] {
    const taken: Uint8Array[] = [];
    let size = 0;
    for (const message of waiting) {
      if (taken.length > 0 && size + message.length > VALUE_BYTES_MAX) break;
      taken.push(message);
      size += message.length;
    }
    waiting = waiting.slice(taken.length);
    bytes -= size;
    assert(bytes >= 0, "The bytes of waiting messages are never negative");
    return taken;
  }

  return (message: unknown): void => {
    const packed = Uint8Array.from(packr.encode(message));
    if (packed.length > VALUE_BYTES_MAX || bytes + packed.length > WAITING_BYTES_MAX) return;
    waiting.push(packed);
    bytes += packed.length;
    if (!sending) void send();
  };
}

/**
 * Decodes a Kafka record with messages of one node. The list of messages is empty if the record is
 * damaged or has another format.
 */
function decode(value: Uint8Array): [format: number, author: string, messages: unknown[]] {
  try {
    const [format, author, messages] = packr.decode(value);
    if (format !== FORMAT) return [Number(format), "", []];
    return [format, author, messages.map((message: Uint8Array) => packr.decode(message))];
  } catch {
    return [0, "", []];
  }
}

/**
 * Calls `take` with every Kafka record that is written after this call. After a failed read,
 * continues at the end of the topic and may skip records, which is allowed because messages on the
 * node bus may be lost.
 */
function receive(fetcher: Fetcher, logger: Logger, take: (value: Buffer) => void) {
  const stop = new OneTimeEvent<undefined>();
  let next: bigint | undefined;

  async function step(): Promise<void> {
    next ??= (await fetcher.offsets("end"))[0]!;
    const fetched = await stop.race(fetcher.fetch(0, next));
    if (fetched === undefined) return;
    for (const { value } of fetched.values) take(value);
    const last = fetched.values.at(-1);
    next = fetched.isOutOfRange ? fetched.end : last === undefined ? next : last.offset + 1n;
  }

  const receiving = (async () => {
    while (!stop.hasHappened) {
      try {
        await step();
      } catch (err) {
        logger.debug({ err }, "node messages unreadable, retrying");
        next = undefined;
        await stop.race(Bun.sleep(RETRY_MS));
      }
    }
  })();
  return {
    async close() {
      stop.happen(undefined);
      await receiving;
    },
  };
}
