import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  batch,
  childProcesses,
  eventually,
  PATIENCE_MS,
  program,
  sandboxWithSpares,
  shown,
} from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

let asked = 0;
const sandbox = sandboxWithSpares({
  limits: { wallMs: 2_000 },
  fetch: async ({ url }) => {
    asked += 1;
    return { url, status: 200, headers: {}, body: "{}" };
  },
});
afterAll(() => sandbox.close());

test("time in which the server was stopped with its guests counts for no guest", async () => {
  const code = `export const transformEvent = async (event) => {
    await fetch("begins");
    for (const end = Date.now() + 200; Date.now() < end; );
    return event;
  }`;
  const running = sandbox.run(program(code), batch({ n: 1 }));
  await eventually(() => asked > 0);
  await Bun.sleep(50);
  const guests = childProcesses();
  for (const pid of guests) process.kill(pid, "SIGSTOP");
  // Stops the server, like a paused container or a suspended machine.
  Bun.sleepSync(4_000);
  for (const pid of guests) process.kill(pid, "SIGCONT");
  expect(shown(await running)).toEqual([[{ n: 1 }]]);
});
