import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  batch,
  childProcesses,
  library,
  PATIENCE_MS,
  program,
  sandboxWithSpares,
  shown,
} from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

/** Code that ends after it was seen to run in 300 different milliseconds. */
const SLOW = `for (let seen = 0, last = 0; seen < 300; ) {
  const now = Date.now();
  if (now !== last) seen += 1;
  last = now;
}`;

const sandbox = sandboxWithSpares({ limits: { cpuMs: 1_000 } });
afterAll(() => sandbox.close());

/** Lets the guests run for about a tenth of the time until the result is disposed of. */
function starveGuests(): Disposable {
  const signal = (name: "SIGSTOP" | "SIGCONT") => {
    for (const pid of childProcesses()) {
      try {
        process.kill(pid, name);
      } catch (error) {
        // The guest has ended.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  };
  let isOver = false;
  const alternate = async () => {
    while (!isOver) {
      signal("SIGSTOP");
      await Bun.sleep(90);
      signal("SIGCONT");
      await Bun.sleep(10);
    }
  };
  alternate();
  return {
    [Symbol.dispose]() {
      isOver = true;
      signal("SIGCONT");
    },
  };
}

test("code that needs its CPU time to load does so when its guest is given little of a processor", async () => {
  const slow = program(`${SLOW} export const transformEvent = (event) => event`);
  using _ = starveGuests();
  expect(shown(await sandbox.run(slow, batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
  expect(shown((await sandbox.check(slow, batch({ n: 1 }))).outcomes)).toEqual([[{ n: 1 }]]);
  const slowLibrary = library("slow", SLOW);
  expect(await sandbox.checkLibrary("w1", "javascript", slowLibrary, [])).toBeUndefined();
});
