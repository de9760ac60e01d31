import { openOrderedTopic } from "../cluster/ordered-log/ordered-topic.ts";
import type { TopicOpening } from "../cluster/topics/ensure-topic.ts";
import { clusterDirectory } from "../first-start/data-directory.ts";
import { openView } from "../store/lmdb/view.ts";
import type { OrderedLog } from "../store/ordered/ordered-log.ts";
import { OrderedStore } from "../store/ordered/ordered-store.ts";
import type { FigureStorage, StartContext } from "./backend.ts";

/** Returns the storage of figures (such as counts of events) that all nodes of a cluster share. */
export function sharedFigures(
  { config, logger }: StartContext,
  topic: TopicOpening,
  share: () => number,
): FigureStorage {
  // All attempts to open the store share the clients of the brokers.
  const options = { ...topic, admin: topic.clients.admin(), partitions: 1 };
  let log: OrderedLog | undefined;
  return {
    share,
    async open() {
      const name = "The figures";
      log ??= (await openOrderedTopic(options))[0]!;
      const path = clusterDirectory(config, "figures/figures.mdb");
      const local = openView({ path, name, logger });
      return new OrderedStore({ local, log, name, logger });
    },
  };
}
