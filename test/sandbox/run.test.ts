import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { unsharedMetadata } from "../../src/sandbox/program.ts";
import {
  batch,
  childProcesses,
  eventually,
  hasty,
  library,
  nameless,
  PATIENCE_MS,
  program,
  shown,
  testSandbox,
} from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = testSandbox();
/** For code that loops. */
const strict = testSandbox({ limits: hasty });
afterAll(() => Promise.all([sandbox.close(), strict.close()]));

const run = async (code: string, ...events: object[]) =>
  shown(await sandbox.run(program(code), batch(...events)));
const runStrictly = async (code: string, ...events: object[]) =>
  shown(await strict.run(program(code), batch(...events)));

test("an event is replaced, dropped, expanded or failed, in input order", async () => {
  const code = `export function transformEvent(event) {
    switch (event.do) {
      case "replace": return { ...event, done: true };
      case "drop": return null;
      case "expand": return [{ n: 1 }, { n: 2 }];
      case "empty": return [];
      case "throw": throw new RangeError("no");
      case "number": return 7;
      case "mixed": return [event, 1];
    }
  }`;
  const kinds = ["replace", "drop", "expand", "empty", "throw", "number", "mixed", "nothing"];
  expect(await run(code, ...kinds.map((kind) => ({ do: kind })))).toEqual([
    [{ do: "replace", done: true }],
    [],
    [{ n: 1 }, { n: 2 }],
    [],
    expect.stringMatching(/^RangeError: no\n {4}at transformEvent \(My T:7:\d+\)$/),
    "returned event from transformEvent(event) is not an object",
    "returned event in events array from transformEvent(event) is not an object",
    [],
  ]);
});

test("async functions run side by side and answer in input order", async () => {
  const code = `const order = [];
  export async function transformEvent(event) {
    for (let i = 0; i < event.waits; i += 1) await null;
    order.push(event.n);
    return { n: event.n, order: order.length };
  }`;
  expect(await run(code, { n: 1, waits: 9 }, { n: 2, waits: 0 })).toEqual([
    [{ n: 1, order: 2 }],
    [{ n: 2, order: 1 }],
  ]);
});

test("a promise that never settles fails its own event", async () => {
  const code = `export async function transformEvent(event) {
    if (event.n === 2) await new Promise(() => {});
    return event;
  }`;
  expect(await run(code, { n: 1 }, { n: 2 }, { n: 3 })).toEqual([
    [{ n: 1 }],
    "Timed out",
    [{ n: 3 }],
  ]);
});

test("a promise that settles in a later batch decides no outcome of that batch", async () => {
  const stuck = program(`let release;
    const gate = new Promise((resolve) => { release = resolve });
    export async function transformEvent(event) {
      if (event.wait) await gate;
      else if (event.release) release();
      return event;
    }`);
  expect(shown(await sandbox.run(stuck, batch({ wait: true })))).toEqual(["Timed out"]);
  expect(shown(await sandbox.run(stuck, batch({ n: 1 }, { release: true }, { n: 2 })))).toEqual([
    [{ n: 1 }],
    [{ release: true }],
    [{ n: 2 }],
  ]);
});

test("an endless loop fails its own event", async () => {
  const code = `export function transformEvent(event) {
    while (event.n === 2);
    return event;
  }`;
  expect(await runStrictly(code, { n: 1 }, { n: 2 }, { n: 3 })).toEqual([
    [{ n: 1 }],
    "Script execution timed out.",
    [{ n: 3 }],
  ]);
});

test("endless promises fail their own events, others next to them do not", async () => {
  const code = `export async function transformEvent(event) {
    while (event.n % 2 === 0) await null;
    return event;
  }`;
  expect(await runStrictly(code, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 })).toEqual([
    [{ n: 1 }],
    "Script execution timed out.",
    [{ n: 3 }],
    "Script execution timed out.",
  ]);
});

test("more endless loops than a batch allows do not affect its other events", async () => {
  const code = `export function transformEvent(event) {
    while (event.n % 2 === 0);
    return event;
  }`;
  const events = Array.from({ length: 14 }, (_, n) => ({ n }));
  expect(await runStrictly(code, ...events)).toEqual(
    events.map((event) => (event.n % 2 === 0 ? "Script execution timed out." : [event])),
  );
});

test("a memory bomb fails its own event", async () => {
  const code = `export function transformEvent(event) {
    const kept = [];
    while (event.n === 2) kept.push(new Array(100_000).fill({ n: Math.random() }));
    return event;
  }`;
  expect(await run(code, { n: 1 }, { n: 2 }, { n: 3 })).toEqual([
    [{ n: 1 }],
    expect.stringMatching(/memory/),
    [{ n: 3 }],
  ]);
});

test("transformBatch answers by messageId, in its own order within an event", async () => {
  const code = `export function transformBatch(events, metadata) {
    return events.filter((event) => event.messageId !== "b")
      .flatMap((event) => [{ ...event, s: metadata(event).sourceId }, { extra: event.messageId }]);
  }`;
  expect(await run(code, { messageId: "a" }, { messageId: "b" }, { messageId: "c" })).toEqual([
    [{ messageId: "a", s: "s1" }, { extra: "a" }],
    [],
    [{ messageId: "c", s: "s1" }, { extra: "c" }],
  ]);
});

test("an error of transformBatch fails only the events for which it throws", async () => {
  const code = `export function transformBatch(events) {
    for (const event of events) event.runs = (event.runs ?? 0) + 1;
    if (events.some(({ n }) => n === 2)) throw new Error("two");
    return events;
  }`;
  const error = "Error: two\n    at transformBatch (My T:3:48)";
  const events = [{ n: 1 }, { n: 2 }, { n: 3 }];
  expect(await run(code, ...events)).toEqual([[{ n: 1, runs: 1 }], error, [{ n: 3, runs: 1 }]]);
  expect(await run(code.replace("n === 2", "n === n"), ...events)).toEqual(
    new Array(3).fill(error),
  );
});

test("events of a batch that fails run alone for as long as a batch may", async () => {
  // Only events alone take time: a batch whose time is up would run them alone without an end.
  const code = `export function transformBatch(events) {
    log("run");
    for (const end = Date.now() + 30; events.length === 1 && Date.now() < end; );
    throw new Error("no");
  }`;
  const events = Array.from({ length: 40 }, (_, n) => ({ n }));
  const { outcomes, logs } = await strict.check(program(code), batch(...events));
  expect(shown(outcomes)).toEqual(new Array(40).fill(expect.stringMatching(/^Error: no\n/)));
  expect(logs.length).toBeGreaterThan(0);
  expect(logs.length).toBeLessThan(20);
});

test("killing a guest process loses no event of a batch that failed", async () => {
  let asked = 0;
  const asking = testSandbox({
    fetch: async ({ url }) => {
      asked += 1;
      return { url, status: 200, headers: {}, body: "{}" };
    },
  });
  const code = `export async function transformBatch(events) {
    if (events.length > 1) throw new Error("together");
    await fetch("begins");
    for (const end = Date.now() + 60; Date.now() < end; );
    return events;
  }`;
  const events = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }];
  const running = asking.run(program(code), batch(...events));
  await eventually(() => asked > 1);
  for (const pid of childProcesses()) process.kill(pid, "SIGKILL");
  expect(shown(await running)).toEqual(events.map((event) => [event]));
  await asking.close();
});

test("an output of transformBatch that throws when its messageId is read drops no event", async () => {
  const code = `export const transformBatch = (events) => events.map(({ messageId, bad }) => {
    let reads = 0;
    return { get messageId() {
      reads += 1;
      if (bad && reads > 1) throw new Error("read again");
      return messageId;
    } };
  });`;
  expect(await run(code, { messageId: "a" }, { messageId: "b", bad: true })).toEqual([
    [{ messageId: "a" }],
    expect.stringContaining("Error: read again"),
  ]);
});

test("a thrown value whose stack is another one each time fails its own event alone", async () => {
  const code = `let reads = 0;
  const thrown = { get stack() { reads += 1; return reads === 1 ? "" : { toString() { throw 1 } } } };
  export function transformEvent(event) { if (event.bad) throw thrown; return event }`;
  expect(await run(code, { n: 1 }, { bad: true }, { n: 2 })).toEqual([
    [{ n: 1 }],
    expect.any(String),
    [{ n: 2 }],
  ]);
});

test("transformBatch fails by item for what is no object", async () => {
  expect(await run("export const transformBatch = () => 1", { n: 1 })).toEqual([
    "returned events from transformBatch(event) is not an array",
  ]);
  expect(
    await run("export const transformBatch = (events) => [events[0], 5]", { n: 1 }, { n: 2 }),
  ).toEqual([
    [{ n: 1 }],
    "returned event in events array from transformBatch(events) is not an object",
  ]);
});

test("libraries are imported by default, by name and as a namespace", async () => {
  const code = `import twice, { half as h } from "mathLib";
    import * as all from "mathLib";
    export const transformEvent = ({ n }) => ({ a: twice(n), b: h(n), c: Object.keys(all) });`;
  const libraries = [
    library("mathLib", "export default (n) => 2 * n; export const half = (n) => n / 2;"),
    library("broken", "export const a = ;"),
  ];
  expect(shown(await sandbox.run(program(code, { libraries }), batch({ n: 4 })))).toEqual([
    [{ a: 8, b: 2, c: ["default", "half"] }],
  ]);
});

test("an error in a library names the library, its line and its column", async () => {
  const code = `import { fail } from "myLib";
export function transformEvent() {
  return fail();
}`;
  const libraries = [library("myLib", "\nexport function fail() { null.x }")];
  const [outcome] = await sandbox.run(program(code, { libraries }), batch({}));
  expect(outcome).toEqual({
    error: {
      message: expect.stringMatching(
        /^TypeError: .*\n {4}at fail \(library myLib:2:\d+\)\n {4}at transformEvent \(My T:3:\d+\)$/,
      ),
      line: 2,
      column: expect.any(Number),
      library: "myLib",
    },
  });
});

test("metadata of events without a messageId is that of each", async () => {
  const code = `export function transformEvent(event, metadata) {
    const { eventName } = metadata(event);
    return { of: event.event, eventName, copied: metadata({ ...event }).eventName };
  }`;
  const batchwise = `export function transformBatch(events, metadata) {
    events.reverse();
    return [{ names: events.map((event) => metadata(event).eventName) }];
  }`;
  expect(shown(await sandbox.run(program(code), nameless))).toEqual([
    [{ of: "one", eventName: "one" }],
    [{ of: "two", eventName: "two" }],
    [{ of: "three", eventName: "three" }],
  ]);
  expect(shown(await sandbox.run(program(batchwise), nameless))).toEqual([
    [{ names: ["three", "two", "one"] }],
    [],
    [],
  ]);
});

test("metadata of two events with the same messageId is that of each while its function runs", async () => {
  const given = {
    events: Array.from({ length: 2 }, () => Buffer.from('{"messageId":"same"}')),
    metadata: ["x", "y"].map((sourceId) => unsharedMetadata({ sourceId })),
  };
  const code = `export const transformEvent = (event, metadata) => ({
    own: metadata(event).sourceId,
    copied: metadata({ ...event }).sourceId,
    renamed: metadata(Object.assign(event, { messageId: "other" })).sourceId,
  });`;
  expect(shown(await sandbox.run(program(code), given))).toEqual([
    [{ own: "x", copied: "y" }],
    [{ own: "y", copied: "y" }],
  ]);
});

test("an object as messageId takes no metadata or outputs from the other events of a batch", async () => {
  const events = [{ messageId: { toString: 1, valueOf: 1 } }, { messageId: "b" }, { n: 3 }];
  const given = {
    events: events.map((event) => Buffer.from(JSON.stringify(event))),
    metadata: ["x", "y", "z"].map((sourceId) => unsharedMetadata({ sourceId })),
  };
  const code = `export const transformEvent = (e, metadata) => ({ at: metadata(e).sourceId });`;
  expect(shown(await sandbox.run(program(code), given))).toEqual([
    [{ at: "x" }],
    [{ at: "y" }],
    [{ at: "z" }],
  ]);
  const batchCode = `export const transformBatch = (events, metadata) =>
    events.map((e) => ({ messageId: e.messageId, at: metadata(e).sourceId }));`;
  expect(shown(await sandbox.run(program(batchCode), given))).toMatchObject([
    [{ at: "x" }],
    [{ at: "y" }, { at: "z" }],
    [],
  ]);
});

test("an output of transformBatch without a messageId belongs to the event of the output before it", async () => {
  const code = `export const transformBatch = ([a, b]) => [a, { extra: 1 }, b];`;
  const outcomes = await run(code, { messageId: "a" }, { n: 2 });
  expect(outcomes).toEqual([[{ messageId: "a" }, { extra: 1 }, { n: 2 }], []]);
});

test("credentials, metadata and globals are what the contract says", async () => {
  const code = `export function transformEvent(event, metadata) {
    const absent = ["require", "process", "Buffer", "Bun", "setTimeout", "fs", "URL", "crypto",
      "ShadowRealm", "WebAssembly", "SharedArrayBuffer", "Atomics", "queueMicrotask"];
    let missing;
    try { getCredential() } catch (error) { missing = error.message }
    console.log("nowhere");
    return {
      present: absent.filter((name) => name in globalThis),
      secret: getCredential("key"), none: getCredential("toString"), number: getCredential(1),
      missing, keys: Object.keys(metadata(event)).length, source: metadata(event).sourceId,
      global: global === globalThis, self: (function () { return this })() === undefined,
    };
  }`;
  const credentials = { key: "value" };
  expect(shown(await sandbox.run(program(code, { credentials }), batch({})))).toEqual([
    [
      {
        present: [],
        secret: "value",
        missing: "Key should be valid and defined",
        keys: 29,
        source: "s1",
        global: true,
        self: true,
      },
    ],
  ]);
});

test("dynamic import is refused", async () => {
  const code = `export async function transformEvent(event) {
    return await import(event.name);
  }`;
  for (const name of ["fs", "bun:ffi", "file:///etc/passwd", "myLib"]) {
    expect(await run(code, { name })).toEqual([expect.stringMatching(/^Error: Not supported\n/)]);
  }
});

test("state of a module lasts over batches, and a timeout ends it", async () => {
  const counting = program(`let n = 0;
    export function transformEvent(event) { while (event.loop); return { n: ++n } }`);
  expect(shown(await strict.run(counting, batch({}, {})))).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  expect(shown(await strict.run(counting, batch({})))).toEqual([[{ n: 3 }]]);
  await strict.run(counting, batch({ loop: true }));
  expect(shown(await strict.run(counting, batch({})))).toEqual([[{ n: 1 }]]);
});

test("a guest that code was stopped in several times is replaced", async () => {
  // Without room for a second guest, all programs of the workspace run in the same one.
  const narrow = testSandbox({ limits: { ...hasty, guests: 1 } });
  const count = program("let n = 0; export const transformEvent = () => ({ n: ++n })");
  expect(shown(await narrow.run(count, batch({}, {})))).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  for (let stops = 0; stops < 3; stops += 1) {
    // Each a program of its own, as one that only loops is suspended.
    const loop = program("export function transformEvent() { for (;;); }");
    expect(shown(await narrow.run(loop, batch({})))).toEqual(["Script execution timed out."]);
  }
  expect(shown(await narrow.run(count, batch({})))).toEqual([[{ n: 1 }]]);
  await narrow.close();
});

test("programs of one workspace do not see each other's realm", async () => {
  const dirty = program(`Array.prototype.push = () => {}; JSON.stringify = () => "{}";
    globalThis.leak = 1; Object.prototype.x = 1;
    export function transformEvent(event) { return event }`);
  expect(shown(await sandbox.run(dirty, batch({ a: 1 })))).toEqual([[{ a: 1 }]]);
  expect(
    await run("export const transformEvent = () => ({ l: typeof leak, x: ({}).x })", {}),
  ).toEqual([[{ l: "undefined" }]]);
});

test("events and outputs in any script survive, newlines included", async () => {
  const event = { text: "straße\n\u2028✓😀", __proto__x: 1, deep: [[["\\"]]] };
  expect(await run("export const transformEvent = (event) => [event, event]", event)).toEqual([
    [event, event],
  ]);
});

test("output that is too large alone fails its event, together it is sent in parts", async () => {
  const code = `export function transformEvent(event) {
    return { n: event.n, text: "x".repeat(event.size) };
  }`;
  const sizes = [600_000, 2 << 20, 600_000];
  const outcomes = await run(code, ...sizes.map((size, n) => ({ n, size })));
  expect(outcomes.map((one) => (Array.isArray(one) ? one[0].n : one))).toEqual([
    0,
    "Output of one event is larger than 1048576 characters",
    2,
  ]);
});

test("a program that does not load fails every event with the reason", async () => {
  expect(await run("throw new Error('top'); export const transformEvent = 1", {}, {})).toEqual([
    "Error: top",
    "Error: top",
  ]);
});

test("events left in a cancelled batch are not run", async () => {
  const code = "export function transformEvent(event) { while (event.loops); return event; }";
  const endless = program(code);
  let looks = 2;
  const isAwaited = () => looks-- > 0;
  const events = batch({ loops: true }, ...Array.from({ length: 9 }, () => ({ loops: true })));
  const notRun = "Not run: the request has ended";
  expect(shown(await strict.run(endless, { ...events, isAwaited })).at(-1)).toBe(notRun);
  const left = await strict.run(endless, { ...batch({}, {}), isAwaited });
  expect(shown(left)).toEqual([notRun, notRun]);
});
