import { expect, setDefaultTimeout, test } from "bun:test";
import type { Publisher } from "../../../src/publishing/create-publisher.ts";
import { defaultLimits } from "../../../src/sandbox/limits.ts";
import { childProcesses, eventually, PATIENCE_MS } from "../../sandbox/support.ts";
import { startApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

const looping = { name: "T", language: "javascript", code: "for (;;);" } as const;
const verbs = ["create", "update", "publish", "test", "runSuites", "run"] as const;

/** Requests that test code; `id` and `versionId` are a draft's. */
const requests: Record<(typeof verbs)[number], [path: string, body: (it: Ids) => object]> = {
  create: ["/transformations?publish=true", () => looping],
  update: ["/transformations/ID?publish=true", () => looping],
  publish: ["/libraries/publish", ({ versionId }) => ({ transformations: [versionId] })],
  test: ["/transformations/libraries/test", ({ versionId }) => ({ transformations: [versionId] })],
  run: ["/v2/run", () => looping],
  runSuites: ["/transformations/tests/run", ({ versionId }) => ({ transformations: [versionId] })],
};
interface Ids {
  id: string;
  versionId: string;
}

/** Publishing that never answers, and tells who asked and whose caller has left. */
function waiting(asked: Set<string>, left: Set<string>): Publisher {
  const verb = (name: string) => {
    return async (...given: unknown[]) => {
      const { caller } = given.at(-1) as { caller: AbortSignal };
      const leaving = new Promise((resolve) => caller.addEventListener("abort", resolve));
      asked.add(name);
      await leaving;
      left.add(name);
      throw new Error("No client reads this");
    };
  };
  return Object.fromEntries(verbs.map((name) => [name, verb(name)])) as unknown as Publisher;
}

test("publishing gets an aborted signal when the client of a test run disconnects", async () => {
  const asked = new Set<string>();
  const left = new Set<string>();
  const api = await startApi({ publishing: waiting(asked, left) });
  for (const name of verbs) {
    const [path, body] = requests[name];
    const hanging = new AbortController();
    const request = fetch(api.url + path, {
      method: "POST",
      headers: { Authorization: `Bearer ${api.token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body({ id: "x", versionId: "x" })),
      signal: hanging.signal,
    });
    await eventually(() => asked.has(name));
    hanging.abort();
    await expect(request).rejects.toThrow();
    await eventually(() => left.has(name));
  }
  await api.stop();
});

test("guests of a test run end when its client disconnects", async () => {
  const others = new Set(childProcesses());
  const guests = () => childProcesses().filter((pid) => !others.has(pid)).length;
  const api = await startApi({}, { guestLimits: { spares: defaultLimits.spares } });
  const draft = await api.client.call("POST /transformations", { body: looping });
  const hanging = new AbortController();
  const request = fetch(`${api.url}/transformations/libraries/test`, {
    method: "POST",
    headers: { Authorization: `Bearer ${api.token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ transformations: [draft.versionId] }),
    signal: hanging.signal,
  });
  // Beside the guest of the request, a spare one waits for work.
  await eventually(() => guests() > 1);
  hanging.abort();
  await expect(request).rejects.toThrow();
  await eventually(() => guests() === 1);
  await api.stop();
});
