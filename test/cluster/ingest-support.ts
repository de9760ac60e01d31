import { openPartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import type { TopicSettings } from "../../src/cluster/topics/ensure-topic.ts";
import { sourceOfRecord } from "../../src/event/record.ts";
import {
  type IngestOptions,
  startIngestProcesses,
} from "../../src/ingest/supervisor/supervisor.ts";
import { type BrokerSettings, connectClients } from "../../src/kafka/client.ts";
import { ingestOptions, quiet } from "../ingest/ingest-support.ts";

/** The partitions of a topic as a node sees them, closed with the test. */
export async function openLogs(brokers: BrokerSettings, topic: TopicSettings) {
  const clients = await connectClients(brokers);
  const logs = await openPartitionLogs({
    ...{ clients, brokers, topic, logger: quiet },
    sourceOf: sourceOfRecord,
  });
  return Object.assign(logs, {
    async [Symbol.asyncDispose]() {
      await logs.close();
      await clients.close();
    },
  });
}

type Options = Partial<Omit<IngestOptions, "logs">>;

/** Ingest processes that write partitions, and end with the test. */
export async function startIngest(
  data: string,
  logs: Awaited<ReturnType<typeof openLogs>>,
  options: Options = {},
) {
  const ingest = await startIngestProcesses({ ...ingestOptions(data, options), logs });
  return Object.assign(ingest, { [Symbol.asyncDispose]: () => ingest.stop() });
}
