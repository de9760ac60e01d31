import { receiveResults, send } from "../host-channel.ts";
import type { Realm } from "./realm.ts";
import type { TimeBudget } from "./time-budget.ts";

/**
 * Number of iterations of the event loop after which pending promises count as never settling.
 * Iterations are counted only while no host call (call of a function that the server executes) is
 * pending.
 */
const IDLE_ITERATIONS_MAX = 20;

/**
 * Runs the promises of a program until `done` returns true and no host call (call of a function
 * that the server executes, such as `fetch`) is pending, or until the promises that are left cannot
 * settle. Throws `ScriptTimeout` when `budget` is used up.
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
      send({ kind: "wait" }, [runner.outgoing()]);
      const results = receiveResults();
      // The host is gone, and this process will end.
      if (!results) return;
      runner.incoming(results.body.toString());
      budget.step(realm, "arrive");
      idle = 0;
    } else budget.step(realm, "drain");
  }
}
