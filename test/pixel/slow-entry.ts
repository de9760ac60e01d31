/** Stands in for an ingest process on a busy machine: it computes for long without a word. */

import { INGEST_PULSE_MS, INGEST_PULSES_MISSED_MAX } from "../../src/limits.ts";
import type { FromIngest, ToIngest } from "../../src/pixel/messages.ts";

const send = (message: FromIngest) => process.send!(message);

process.on("message", ({ type }: ToIngest) => {
  if (type === "serve") send({ type: "opened", durable: 0 });
  else if (type === "close") process.exit(0);
  else if (type === "listen") {
    send({ type: "listening" });
    setTimeout(compute, 100);
  }
});

function compute(): void {
  const until = performance.now() + INGEST_PULSE_MS * (INGEST_PULSES_MISSED_MAX + 3);
  while (performance.now() < until);
  setInterval(() => send({ type: "pulse" }), INGEST_PULSE_MS);
}
