import { receiveAnswers, send } from "../host-channel.ts";
import type { Realm } from "./realm.ts";
import type { TimeBudget } from "./time-budget.ts";

/** Turns of both event queues that a promise may take to settle when nothing is awaited. */
const IDLE_TURNS_MAX = 20;

/**
 * Lets a realm's promises go on until `done`, or until nothing is left that could make them. What
 * they await of the network is asked of the host, and this process sleeps until it answers.
 * Throws `TimedOut`.
 */
export async function settlePromises(
  realm: Realm,
  budget: TimeBudget,
  done: () => boolean,
): Promise<void> {
  const { runner } = realm;
  for (let idle = 0; idle < IDLE_TURNS_MAX; idle += 1) {
    // Requests are also made when nobody awaits them.
    if (done() && runner.awaited() === 0) return;
    // Promises of import() settle in the guest's queue, those of user code in the realm's.
    await new Promise((resolve) => setImmediate(resolve));
    if (runner.awaited() > 0) {
      send({ kind: "wait" }, runner.outgoing());
      const answers = receiveAnswers();
      // The host is gone, and this process will end.
      if (!answers) return;
      runner.incoming(answers.body.toString());
      budget.step(realm, "arrive");
      idle = 0;
    } else budget.step(realm, "drain");
  }
}
