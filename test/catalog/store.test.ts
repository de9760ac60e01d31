import { expect, onTestFinished, test } from "bun:test";
import { openStore } from "../../src/catalog/store.ts";
import { freshDirectory, logger } from "./_setup.ts";

test("a process reads its own change while other reads go on", async () => {
  const store = openStore(await freshDirectory(), logger);
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
    return store.close();
  });
  // Each turn is long, so that a commit mostly ends in one that has read the epoch already.
  const ask = () => {
    if (isOver) return;
    store.epoch("topology");
    Bun.sleepSync(10);
    setImmediate(ask);
  };
  ask();
  for (let n = 1; n <= 30; n++) {
    await store.change(() => store.advance("topology"));
    expect(store.epoch("topology")).toBe(n);
  }
});
