import { PartitionQueue } from "./partition-queue.ts";
import type { PartitionResponse, ProduceClient } from "./produce-client.ts";
import type { ProducerId } from "./record-batch.ts";

export interface IdempotentProducerOptions {
  producer: ProduceClient;
  topic: string;
  /** Called when the topic is seen to have more partitions than before. */
  onPartitions?(count: number): void;
}

/** A broker that dies is replaced as leader of its partitions within so many attempts. */
const ATTEMPTS = 20;
const RETRY_MS = 250;
/**
 * How long a leader that answered is left alone. Clients whose pixels were in the answered request
 * send their next ones at once: without a pause the first of these would go in a request alone, and
 * the others wait for its answer. With 48 connections 1 ms saves an eighth of the requests or more.
 */
const PAUSE_MS = 1;
/** How soon it is noticed that a topic has more partitions. */
const LEADERS_MS_MAX = 5_000;

/**
 * Sends values to the partitions of a topic: one request at a time to each leader, which carries
 * what waits for this leader. So requests are as full as can be, and a leader that died holds up
 * its own partitions alone.
 */
export class IdempotentProducer {
  readonly #options: IdempotentProducerOptions;
  readonly #outboxes: PartitionQueue[] = [];
  #added = 0;
  #gathering = false;
  /** Leaders that have not answered yet, or only just. */
  readonly #busy = new Set<number>();
  /** Of batches to come; an outbox that gave a batch up never sends under the same one again. */
  #identity: ProducerId | undefined;
  /** Leader of each partition, as of some seconds ago; negative for one that has none. */
  #leaders: readonly number[] | undefined;
  #asking: Promise<void> | undefined;
  /** When leaders were asked for, in milliseconds of `performance.now()`. */
  #askedAt = 0;

  constructor(options: IdempotentProducerOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the value's offset once all replicas in sync have it. Rejects when the brokers
   * did not say so; then it may be there all the same, once. `take` is called when the request is
   * made, if it comes to that; the caller keeps the value as it is until the promise settles, and
   * waits for that before it sends what must come behind it.
   */
  send(partition: number, take: () => Buffer): Promise<bigint> {
    const { promise, resolve, reject } = Promise.withResolvers<bigint>();
    for (let it = this.#outboxes.length; it <= partition; it++)
      this.#outboxes.push(new PartitionQueue(it));
    this.#outboxes[partition]!.add({ take, resolve, reject });
    this.#added += 1;
    void this.#sendWaiting();
    return promise;
  }

  async #sendWaiting(): Promise<void> {
    if (this.#gathering) return;
    this.#gathering = true;
    // What comes in this turn of the event loop, and in the next as long as more comes, goes along.
    let added: number;
    do {
      added = this.#added;
      await new Promise(setImmediate);
    } while (this.#added > added);
    try {
      if (this.#leaders === undefined) await this.#askLeaders();
      // What is known is used meanwhile.
      else if (performance.now() - this.#askedAt > LEADERS_MS_MAX) {
        this.#askLeaders().catch(() => {});
      }
      this.#identity ??= await this.#options.producer.initProducerId();
      this.#sendDue(this.#leaders!, this.#identity);
    } catch (error) {
      this.#refuse(this.#due(), error);
    }
    this.#gathering = false;
  }

  #sendDue(leaders: readonly number[], identity: ProducerId): void {
    for (const [leader, group] of Map.groupBy(this.#due(), (it) => leaders[it.partition])) {
      if (leader === undefined) this.#refuse(group, new Error("The partition is not there"));
      else if (!this.#busy.has(leader)) void this.#sendTo(leader, group, identity);
    }
  }

  #due(): PartitionQueue[] {
    return this.#outboxes.filter((it) => it.isDue);
  }

  #refuse(outboxes: readonly PartitionQueue[], error: unknown): void {
    this.#identity = undefined;
    for (const outbox of outboxes) outbox.refuse(error);
  }

  #askLeaders(): Promise<void> {
    const { producer, topic, onPartitions } = this.#options;
    this.#askedAt = performance.now();
    const ask = async () => {
      const leaders = await producer.leaders(topic);
      const isMore = leaders.length > (this.#leaders?.length ?? 0);
      this.#leaders = leaders;
      if (isMore) onPartitions?.(leaders.length);
    };
    this.#asking ??= ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #sendTo(
    leader: number,
    group: readonly PartitionQueue[],
    identity: ProducerId,
  ): Promise<void> {
    this.#busy.add(leader);
    const { producer, topic } = this.#options;
    let answers: PartitionResponse[] = [];
    let reason: unknown;
    try {
      const batches = group.map((outbox) => outbox.batch(identity));
      answers = await producer.produce(leader, topic, batches);
    } catch (error) {
      reason = error;
    }
    for (const outbox of group) {
      const answer = answers.find((it) => it.index === outbox.partition);
      if (answer?.errorCode === 0) outbox.taken(answer.baseOffset);
      else this.#missed(outbox, answer ? producer.errorOf(answer) : (reason ?? unanswered()));
    }
    await Bun.sleep(PAUSE_MS);
    this.#busy.delete(leader);
    void this.#sendWaiting();
  }

  /** The leader did not take the batch, as far as anybody knows. */
  #missed(outbox: PartitionQueue, error: unknown): void {
    const { attempts } = outbox;
    const judgement = this.#options.producer.classify(error);
    if (judgement === "refused" || attempts >= ATTEMPTS) {
      this.#refuse([outbox], error);
      return;
    }
    if (judgement === "identity") {
      this.#identity = undefined;
      outbox.disown();
    }
    const asked = this.#askLeaders().catch(() => {});
    const rest = Bun.sleep(RETRY_MS);
    // Where another leads already, the batch need not wait.
    void (attempts === 1 ? Promise.race([asked, rest]) : rest).then(() => {
      outbox.release();
      void this.#sendWaiting();
    });
  }
}

const unanswered = () => new Error("The leader did not answer for the partition");
