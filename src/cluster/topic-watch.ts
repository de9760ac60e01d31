import type { Admin } from "@platformatic/kafka";
import type { Logger } from "../observe/log.ts";
import { type TopicSettings, topicFault } from "./topics.ts";

export interface TopicWatchOptions {
  admin: Admin;
  topics: readonly TopicSettings[];
  logger: Logger;
  /** Between two looks. */
  everyMs?: number;
}

export interface TopicWatch {
  /** A sentence for each topic that promises less than is needed. */
  faults(): string[];
  close(): void;
}

const LOOK_MS = 60_000;

/**
 * An operator may change what topics promise while nodes run; then nobody should learn of it by
 * what has been lost.
 */
export function watchTopics({
  admin,
  topics,
  logger,
  everyMs = LOOK_MS,
}: TopicWatchOptions): TopicWatch {
  const faults = new Map<string, string>();

  async function lookAt(topic: TopicSettings): Promise<void> {
    const fault = await topicFault(admin, topic);
    if (fault === faults.get(topic.name)) return;
    if (fault === undefined) {
      faults.delete(topic.name);
      logger.info({ topic: topic.name }, "The topic promises what is needed again");
    } else {
      faults.set(topic.name, fault);
      logger.error({ topic: topic.name }, fault);
    }
  }

  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    // Brokers that are away are told of elsewhere.
    await Promise.allSettled(topics.map(lookAt));
    isLooking = false;
  };
  const timer = setInterval(() => void look(), everyMs);
  return { faults: () => [...faults.values()], close: () => clearInterval(timer) };
}
