import { expect, setDefaultTimeout, test } from "bun:test";
import { Registry } from "prom-client";
import {
  batch,
  childProcesses,
  PATIENCE_MS,
  program,
  sandboxWithSpares,
  shown,
} from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

const identity = "export const transformEvent = (event) => event";

test("more workspaces than guests never exceed the limit of live guests", async () => {
  const before = new Set(childProcesses());
  const metrics = new Registry();
  const awaited = async () =>
    /^pixelmill_guests_awaited (\d+)$/m.exec(await metrics.metrics())?.[1];
  const sandbox = sandboxWithSpares({ metrics, limits: { guests: 3 } });
  let most = 0;
  const look = setInterval(() => {
    const own = childProcesses().filter((pid) => !before.has(pid));
    most = Math.max(most, own.length);
  }, 25);
  const names = Array.from({ length: 12 }, (_, n) => `many ${n}`);
  const runs = names.map((workspaceId) =>
    sandbox.run(program(identity, { workspaceId }), batch({ workspaceId })),
  );
  expect(await awaited()).toBe("9");
  const outcomes = await Promise.all(runs);
  expect(await awaited()).toBe("0");
  clearInterval(look);
  expect(outcomes.map(shown)).toEqual(names.map((workspaceId) => [[{ workspaceId }]]));
  // Three, and a spare.
  expect(most).toBeLessThanOrEqual(4);
  await sandbox.close();
});

test("guests that take all memory make room for the others, without blame", async () => {
  const sandbox = sandboxWithSpares({ limits: { memoryBytes: 90 << 20 } });
  const hoarding = `let kept;
    export const transformEvent = ({ mib }) => {
      kept = new Uint8Array(mib << 20).fill(1);
      for (const end = Date.now() + 300; Date.now() < end; );
      return { mib };
    }`;
  const runs = ["h1", "h2", "h3"].map((workspaceId) =>
    sandbox.run(program(hoarding, { workspaceId }), batch({ mib: 60 })),
  );
  const calm = program(identity, { workspaceId: "calm" });
  expect(shown(await sandbox.run(calm, batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
  expect((await Promise.all(runs)).map(shown)).toEqual(runs.map(() => [[{ mib: 60 }]]));
  await sandbox.close();
});
