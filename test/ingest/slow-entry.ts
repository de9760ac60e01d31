/**
 * Stands in for an ingest process on a busy machine: it computes for long without a word, once it
 * listens, or (`slow-entry.ts start`) before that.
 */

import { INGEST_PULSE_MS } from "../../src/ingest/limits.ts";
import type { IngestMessage, ServerMessage } from "../../src/ingest/messages.ts";
import { INGEST_PULSES_MISSED_MAX } from "../../src/ingest/supervisor/ingest-process.ts";
import { INGEST_START_MS_MAX } from "../../src/ingest/supervisor/start-limit.ts";

const startsSlowly = process.argv[2] === "start";
const send = (message: IngestMessage) => process.send!(message);

process.on("message", ({ type }: ServerMessage) => {
  if (type === "serve") {
    if (startsSlowly) compute(INGEST_START_MS_MAX + 2_000);
    send({ type: "opened", durable: 0 });
  } else if (type === "close") process.exit(0);
  else if (type === "listen") {
    send({ type: "listening" });
    if (!startsSlowly) setTimeout(computeAndPulse, 100);
  }
});

function computeAndPulse(): void {
  compute(INGEST_PULSE_MS * (INGEST_PULSES_MISSED_MAX + 3));
  setInterval(() => send({ type: "pulse", outcomes: { stored: 0, refused: 0 } }), INGEST_PULSE_MS);
}

function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}
