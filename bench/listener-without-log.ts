/** Pixel listener over a log that discards every record. */

import { openListeningSocket } from "../src/http/listening-socket.ts";
import { createIngestListener } from "../src/ingest/listener.ts";
import { createLogger } from "../src/observe/log.ts";
import { createMetrics } from "../src/observe/metrics.ts";

const source = {
  ...{ id: "0".repeat(27), workspaceId: "0".repeat(27), name: "Bench", type: "http" as const },
  ...{ writeKey: "0".repeat(27), enabled: true, config: {}, createdAt: 0, updatedAt: 0 },
};
const forgotten = Promise.resolve();
const listener = createIngestListener({
  source: (writeKey) => (writeKey === source.writeKey ? source : undefined),
  log: { append: () => forgotten, appendAll: () => forgotten },
  trustedProxies: [],
  recordClientAddress: true,
  eventsPerSecondMax: 0,
  outcomes: { stored: 0, refused: 0 },
  received: new Map(),
  logger: createLogger("warn"),
  metrics: createMetrics(),
});
const socket = openListeningSocket({ host: "127.0.0.1", port: 0 });
listener.start(socket);
process.stdout.write(`${socket.port}\n`);
