import { receiveResults, send } from "../host-channel.ts";
import type { Realm } from "./realm.ts";
import type { TimeBudget } from "./time-budget.ts";

/** Iterations of both event loops in which a promise may settle when no host call is awaited. */
const IDLE_ITERATIONS_MAX = 20;

/**
 * Runs a realm's promises until `done`, or until they cannot settle. Sends the host calls that they
 * await to the host, and sleeps until the results are there. Throws `ScriptTimeout`.
 */
export async function settlePromises(
  realm: Realm,
  budget: TimeBudget,
  done: () => boolean,
): Promise<void> {
  const { runner } = realm;
  for (let idle = 0; idle < IDLE_ITERATIONS_MAX; idle += 1) {
    // Host calls are also made when no code awaits them.
    if (done() && runner.awaited() === 0) return;
    // Promises of import() settle in the guest's queue, those of user code in the realm's.
    await new Promise((resolve) => setImmediate(resolve));
    if (runner.awaited() > 0) {
      send({ kind: "wait" }, runner.outgoing());
      const results = receiveResults();
      // The host is gone, and this process will end.
      if (!results) return;
      runner.incoming(results.body.toString());
      budget.step(realm, "arrive");
      idle = 0;
    } else budget.step(realm, "drain");
  }
}
