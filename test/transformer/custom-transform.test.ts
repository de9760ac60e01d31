import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { Sandbox } from "../../src/sandbox/guest-sandbox.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { hasty, testSandbox } from "../sandbox/support.ts";
import { freshTransformer } from "./_setup.ts";

const threeWays = `export function transformEvent(event, metadata) {
  if (event.drop) return;
  if (event.fail) throw new Error("boom");
  if (event.twice) return [{ ...event, n: 1 }, { ...event, n: 2 }];
  return { ...event, source: metadata(event).sourceId, job: metadata(event).jobId };
}`;

const sandbox = testSandbox();
afterAll(() => sandbox.close());

let house: Awaited<ReturnType<typeof freshTransformer>>;
beforeEach(async () => {
  house = await freshTransformer({ sandbox });
});

describe("POST /customTransform", () => {
  test("each output, error and dropped event has an item with its metadata as they came", async () => {
    const { versionId } = await house.publish("transformation", threeWays);
    const message = (messageId: string, more = {}) => ({ messageId, ...more });
    const items = [
      house.item(versionId, message("m1")),
      house.item(versionId, message("m2", { drop: true })),
      house.item(versionId, message("m3", { fail: true })),
      house.item(versionId, message("m4", { twice: true })),
    ];
    const { status, headers, body } = await house.send(items);
    const [first, second, third, fourth] = items.map(({ metadata }) => metadata);
    expect(status).toBe(200);
    expect(headers.get("apiversion")).toBe("2");
    expect(body).toEqual([
      { output: { messageId: "m1", source: "s1", job: 7 }, metadata: first, statusCode: 200 },
      { statusCode: 298, metadata: { ...second, messageIds: null } },
      {
        statusCode: 400,
        error: "Error: boom\n    at transformEvent (My T:3:25)",
        metadata: third,
      },
      { output: { messageId: "m4", twice: true, n: 1 }, metadata: fourth, statusCode: 200 },
      { output: { messageId: "m4", twice: true, n: 2 }, metadata: fourth, statusCode: 200 },
    ]);
  });

  test("an event that is nested too deep fails alone, without a run", async () => {
    const code = "export const transformEvent = ({ messageId }) => ({ messageId })";
    const { versionId } = await house.publish("transformation", code);
    const items = [999, 1_000].map((levels) => {
      const x = JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
      return house.item(versionId, { messageId: "m", x });
    });
    const { body } = await house.send(items);
    expect(body.map((it: any) => it.output ?? it.error)).toEqual([
      { messageId: "m" },
      "Expected an event with at most 1000 levels",
    ]);
  });

  test("a dropped event has no item for a server that does not ask for status 298", async () => {
    const { versionId } = await house.publish("transformation", threeWays);
    const items = [house.item(versionId, { messageId: "m1", drop: true })];
    expect((await house.send(items, { "x-feature-filter-code": "?0" })).body).toEqual([]);
  });

  test("a version that was published once runs after a newer one replaced it, and after deletion", async () => {
    const { versionId, id } = await house.publish("transformation", threeWays);
    const code = "export const transformEvent = () => ({ is: 'new' })";
    const input = { code, publish: true };
    const newer = await house.publishing.update(house.workspaceId, "transformation", id, input);
    const outputs = async () => {
      const versions = [versionId, newer.revision.versionId];
      const { body } = await house.send(versions.map((it) => house.item(it, { messageId: "m" })));
      return body.map((it: any) => it.output);
    };
    const expected = [{ messageId: "m", source: "s1", job: 7 }, { is: "new" }];
    expect(await outputs()).toEqual(expected);
    await house.catalog.code.remove(house.workspaceId, "transformation", id);
    expect(await outputs()).toEqual(expected);
  });

  test("a draft, another workspace's code and an unknown version are not found, for these items", async () => {
    const draft = await house.publish("transformation", threeWays, { publish: false });
    const { versionId } = await house.publish("transformation", threeWays);
    const other = await house.catalog.workspaces.create("Other");
    const metadata = { workspaceId: other.id };
    const { status, body } = await house.send([
      house.item(draft.versionId, { messageId: "m1" }),
      house.item(versionId, { messageId: "m2" }, { metadata }),
      house.item("x".repeat(27), { messageId: "m3" }),
      house.item(undefined, { messageId: "m4" }),
      house.item(versionId, "no object"),
      house.item(versionId, { messageId: "m6" }),
    ]);
    expect(status).toBe(200);
    expect(body.map((it: any) => it.statusCode)).toEqual([404, 404, 404, 400, 400, 200]);
    expect(body[0].error).toStartWith(`Transformation not found at ${draft.versionId}`);
    expect(body[1].metadata).toEqual(metadata);
    expect(body[3].error).toBe("Transformation VersionID not found");
  });

  test("the libraries of a request come before the published ones, by their import names", async () => {
    const library = await house.publish("library", "export const n = 1;", { name: "One Lib" });
    const code = `import { n } from "oneLib";
      export const transformEvent = () => ({ n });`;
    const { versionId } = await house.publish("transformation", code);
    await house.publishing.update(house.workspaceId, "library", library.id, {
      code: "export const n = 2;",
      publish: true,
    });
    const libraries = [{ VersionID: library.versionId }];
    const { body } = await house.send([
      house.item(versionId, { messageId: "m1" }, { libraries }),
      house.item(versionId, { messageId: "m2" }),
    ]);
    expect(body.map((it: any) => it.output)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("code reads the credentials of its workspace, and before them those of the request", async () => {
    const { credentials } = house.catalog;
    await credentials.put(house.workspaceId, "stored", "s1");
    await credentials.put(house.workspaceId, "both", "s2");
    const code = `export const transformEvent = () =>
      ({ a: getCredential("stored"), b: getCredential("both"), c: getCredential("sent") });`;
    const { versionId } = await house.publish("transformation", code);
    const sent = { credentials: [entry("both", "r2"), entry("sent", "r3")] };
    const { body } = await house.send([
      house.item(versionId, { messageId: "m1" }, sent),
      house.item(versionId, { messageId: "m2" }),
    ]);
    expect(body.map((it: any) => it.output)).toEqual([
      { a: "s1", b: "r2", c: "r3" },
      { a: "s1", b: "s2" },
    ]);
  });

  const entry = (key: string, value: string) => ({ id: key, key, value, isSecret: true });

  test("a body that is no array of objects is answered 400, an empty array is answered", async () => {
    const bad = ["", "{}", "[1]", "[{}", "[{}]x", '[{"message":{]}]'];
    for (const body of bad) expect((await house.send(body)).status).toBe(400);
    expect((await house.send("[ ]")).body).toEqual([]);
  });
});

/** Times out, without an event of the tests that publishing runs. */
const endless = `export function transformEvent(event) {
  while (event.loops);
  return event;
}`;

describe("a request with many endless events", () => {
  const events = (loops: number) => [
    { messageId: "first" },
    ...Array.from({ length: loops }, (_, n) => ({ messageId: `m${n}`, loops: true })),
    { messageId: "last" },
  ];
  const TIMED_OUT = "Script execution timed out.";

  async function errorsOf(loops: number, costlyMsMax: number) {
    await using endlessSandbox = disposable(testSandbox({ limits: hasty }));
    const own = await freshTransformer({ sandbox: endlessSandbox, costlyMsMax });
    const { versionId } = await own.publish("transformation", endless);
    const { status, body } = await own.send(events(loops).map((it) => own.item(versionId, it)));
    expect(status).toBe(200);
    expect(body.map((it: any) => it.metadata.messageId)).toEqual(
      events(loops).map(({ messageId }) => messageId),
    );
    return body.map((it: any) => it.error);
  }

  test("is answered: beyond its time no event runs once four were stopped", async () => {
    const notRun = "Not run: 4 other events of the request were stopped";
    const expected = [undefined, ...Array(4).fill(TIMED_OUT), ...Array(17).fill(notRun)];
    expect(await errorsOf(20, 0)).toEqual(expected);
  });

  test("runs its other events within its time", async () => {
    const expected = [undefined, ...Array(5).fill(TIMED_OUT), undefined];
    expect(await errorsOf(5, Number.POSITIVE_INFINITY)).toEqual(expected);
  });

  test("runs its other events beyond its time while fewer than four were stopped", async () => {
    expect(await errorsOf(1, 0)).toEqual([undefined, TIMED_OUT, undefined]);
  });
});

describe("a request whose client no longer waits", () => {
  const message = { messageId: "m1" };
  /** Starts a transformer whose runs of user code last until the request is no longer awaited. */
  async function transformerThatWaits(options: { requestMsMax?: number }) {
    const begun = Promise.withResolvers<() => boolean>();
    const ended = Promise.withResolvers<void>();
    const run: Sandbox["run"] = async (_, { events, isAwaited }) => {
      begun.resolve(isAwaited!);
      while (isAwaited!()) await Bun.sleep(1);
      ended.resolve();
      return events.map(() => ({ events: [] }));
    };
    const own = await freshTransformer({ sandbox: { ...sandbox, run }, ...options });
    const { versionId } = await own.publish("transformation", threeWays);
    return {
      ...own,
      begun: begun.promise,
      ended: ended.promise,
      items: [own.item(versionId, message)],
    };
  }

  test("ends when it was answered with 503 at the time limit", async () => {
    const { send, items, begun, ended } = await transformerThatWaits({ requestMsMax: 20 });
    expect((await send(items)).status).toBe(503);
    expect((await begun)()).toBe(false);
    await ended;
  });

  test("ends when its client has closed the connection", async () => {
    const { transformer, items, begun, ended } = await transformerThatWaits({});
    const abort = new AbortController();
    const { signal } = abort;
    const body = JSON.stringify(items);
    const sent = fetch(`${transformer.url}/customTransform`, { method: "POST", body, signal });
    sent.catch(() => {});
    await begun;
    abort.abort();
    await ended;
    await expect(sent).rejects.toThrow();
  });
});

/** A sandbox that closes at the end of the block. */
function disposable(owned: ReturnType<typeof testSandbox>) {
  return Object.assign(owned, { [Symbol.asyncDispose]: () => owned.close() });
}

test("while user code cannot run, a request is answered so that rudder-server sends it again", async () => {
  const unavailable = new Error("not called");
  const broken = {
    inspect: async () => ({ imports: [] }),
    checkAll: async (_: unknown, batches: unknown[]) =>
      batches.map(() => ({ outcomes: [], logs: [] })),
    run: () => Promise.reject(new SandboxUnavailable("no guest")),
    close: async () => {},
    check: () => Promise.reject(unavailable),
    checkLibrary: () => Promise.reject(unavailable),
  } as unknown as Sandbox;
  const own = await freshTransformer({ sandbox: broken });
  const { versionId } = await own.publish("transformation", threeWays);
  const { status, headers } = await own.send([own.item(versionId, { messageId: "m1" })]);
  expect(status).toBe(503);
  expect(headers.get("x-rudder-should-retry")).toBe("true");
});

test("a request without the secret is sent again, and one with it is transformed", async () => {
  const secret = "a secret of 20 chars".replaceAll(" ", "_");
  const own = await freshTransformer({ sandbox, secret });
  const { versionId } = await own.publish("transformation", threeWays);
  const items = [own.item(versionId, { messageId: "m1" })];
  const basic = (text: string) => ({ authorization: `Basic ${btoa(text)}` });
  const bearer = { authorization: `Bearer ${secret}` };
  const right = [basic(`${secret}:`), basic(`rudder:${secret}`), bearer];
  for (const headers of right) expect((await own.send(items, headers)).status).toBe(200);
  const wrong = [{}, basic("other:"), { authorization: "Bearer" }];
  for (const headers of wrong) {
    const answer = await own.send(items, headers);
    expect([answer.status, answer.headers.get("x-rudder-should-retry")]).toEqual([503, "true"]);
  }
});
