import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

/**
 * The protocol of all programs here. A program runs clients of one SDK. Each line of its standard
 * input is JSON: `{"client": NAME, "open": {"address", "writeKey"}}` creates a client,
 * `{"client": NAME, "call": EVENT}` hands an event to it. Each line of its standard output is JSON
 * too: `{"client": NAME, "sent": true}` or `{"client": NAME, "failed": REASON}` for what the SDK
 * reports of an event. The program ends with its standard input.
 */

/** Imports a package from the folder of installed SDKs. */
export const requireSdk = createRequire(join(process.env.SDK_PACKAGES, "npm", "index.js"));

/**
 * Runs the protocol. `open` creates a client, and returns the function that hands an event to it
 * and reports its outcome: with the reason when it failed.
 */
export function run(open) {
  const clients = new Map();
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const { client, open: options, call } = JSON.parse(line);
    if (options) return clients.set(client, open(options));
    clients.get(client)(call, (reason) => {
      const outcome = reason === undefined ? { sent: true } : { failed: String(reason) };
      process.stdout.write(`${JSON.stringify({ client, ...outcome })}\n`);
    });
  });
  lines.on("close", () => process.exit(0));
}
