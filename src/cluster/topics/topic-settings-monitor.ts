import type { Admin } from "@platformatic/kafka";
import type { Logger } from "../../observe/log.ts";
import { type TopicSettings, unsafeSetting } from "./ensure-topic.ts";

export interface TopicSettingsMonitorOptions {
  admin: Admin;
  topics: readonly TopicSettings[];
  logger: Logger;
  /** Milliseconds between two checks of the topics' settings. */
  everyMs?: number;
}

const LOOK_MS = 10_000;

/**
 * Starts to check regularly whether the current settings of the topics risk data loss. `warnings`
 * of the result returns a sentence for each topic whose settings were unsafe at the last check.
 */
export function monitorTopicSettings({
  admin,
  topics,
  logger,
  everyMs = LOOK_MS,
}: TopicSettingsMonitorOptions) {
  const faults = new Map<string, string>();

  async function lookAt(topic: TopicSettings): Promise<void> {
    const fault = await unsafeSetting(admin, topic);
    if (fault === faults.get(topic.name)) return;
    if (fault === undefined) {
      faults.delete(topic.name);
      logger.info({ topic: topic.name }, "topic settings valid again");
    } else {
      faults.set(topic.name, fault);
      logger.error({ topic: topic.name }, fault);
    }
  }

  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    // A check fails while the brokers do not answer, which the topic health reports.
    await Promise.allSettled(topics.map(lookAt));
    isLooking = false;
  };
  const timer = setInterval(() => void look(), everyMs);
  return { warnings: () => [...faults.values()], close: () => clearInterval(timer) };
}
