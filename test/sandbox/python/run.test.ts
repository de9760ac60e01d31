import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { unsharedMetadata } from "../../../src/sandbox/program.ts";
import { batch, library, nameless, PATIENCE_MS, shown } from "../support.ts";
import { python, pythonSandbox, runLogged, runner } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = pythonSandbox({
  geolocation(ip) {
    if (ip === "203.0.113.9") throw new Error("/a/host/path");
    return ip === "203.0.113.7" ? { country: { isoCode: "CH", name: "Zürich" } } : null;
  },
});
afterAll(() => sandbox.close());
const run = runner(sandbox);

const NOT_AN_OBJECT = "returned event from transformEvent(event) is not an object";
const ITEM_NOT_AN_OBJECT =
  "returned event in events array from transformEvent(event) is not an object";

test("Python is CPython 3.14", async () => {
  const code = `
    import typing
    def transformEvent(event, metadata):
        return {"version": typing.sys.version.split()[0], "pi": f"{3.14159:.2f}"}
  `;
  // docs/user-code.md states it.
  expect(await run(code, {})).toEqual([[{ version: "3.14.2", pi: "3.14" }]]);
});

/**
 * Values that transformEvent returns for an event `{ n: 1, messageId: "m1" }`, and their outcomes.
 */
const returns: [expression: string, outcome: unknown][] = [
  ["None", []],
  ["event", [{ n: 1, messageId: "m1" }]],
  ["{'a': [1, 2.5, True, None, 'é', {'b': {}}]}", [{ a: [1, 2.5, true, null, "é", { b: {} }] }]],
  ["{1: 'a', None: 'b', True: 'c', 1.5: 'd'}", [{ 1: "c", null: "b", "1.5": "d" }]],
  ["{'t': (1, 2)}", [{ t: [1, 2] }]],
  ["{'big': 2 ** 60}", [{ big: 2 ** 60 }]],
  ["{'lone': '\\ud800'}", [{ lone: "\ud800" }]],
  ["{'lines': 'a\\nb\\u2028'}", [{ lines: "a\nb\u2028" }]],
  ["[]", []],
  ["[event, {'copy': True}]", [{ n: 1, messageId: "m1" }, { copy: true }]],
  ["[event, 5]", ITEM_NOT_AN_OBJECT],
  ["[[event]]", ITEM_NOT_AN_OBJECT],
  ["[None]", ITEM_NOT_AN_OBJECT],
  ["5", NOT_AN_OBJECT],
  ["''", NOT_AN_OBJECT],
  ["False", NOT_AN_OBJECT],
  ["(event,)", NOT_AN_OBJECT],
  ["{1, 2}", NOT_AN_OBJECT],
  ["(event for _ in range(2))", NOT_AN_OBJECT],
  ["__import__('collections').OrderedDict(a=1)", [{ a: 1 }]],
  [
    "{'x': float('nan')}",
    "ValueError: Out of range float values are not JSON compliant: nan\nwhen serializing dict item 'x'",
  ],
  [
    "{'x': {1}}",
    "TypeError: Object of type set is not JSON serializable\nwhen serializing dict item 'x'",
  ],
  ["{(1, 2): 3}", "TypeError: keys must be str, int, float, bool or None, not tuple"],
  [
    "{'x': b''}",
    "TypeError: Object of type bytes is not JSON serializable\nwhen serializing dict item 'x'",
  ],
  [
    "event.update(me=event) or event",
    "ValueError: Circular reference detected\nwhen serializing dict item 'me'",
  ],
];

test.each(returns)("transformEvent returns %s", async (expression, outcome) => {
  const code = `def transformEvent(event, metadata):\n    return ${expression}\n`;
  expect(await run(code, { n: 1, messageId: "m1" })).toEqual([outcome]);
});

test("outcomes come in the order of the events, errors among them", async () => {
  const code = `
    def transformEvent(event, metadata):
        if event["n"] % 3 == 0:
            raise ValueError(event["n"])
        return [event] * (event["n"] % 3)
  `;
  const events = Array.from({ length: 9 }, (_, n) => ({ n }));
  const outcomes = await run(code, ...events);
  expect(outcomes).toEqual(
    events.map(({ n }) =>
      n % 3 === 0
        ? `ValueError: ${n}\n    at transformEvent (My T:3:9)`
        : new Array(n % 3).fill({ n }),
    ),
  );
});

test("an error has its place in the user's file, in characters", async () => {
  const code = `
    def half(event):
        return "é" + event["ü"]["n"] / 2


    def transformEvent(event, metadata):
        return {"half": half(event)}
  `;
  const [outcome] = await sandbox.run(python(code), batch({ ü: {} }));
  expect(outcome).toEqual({
    error: {
      message: "KeyError: 'n'\n    at half (My T:2:18)\n    at transformEvent (My T:6:21)",
      line: 2,
      column: 18,
    },
  });
});

test("an error in a library is placed in the library", async () => {
  const libraries = [library("money", "def double(event):\n    return event.price * 2\n")];
  const code = `
    from money import double
    def transformEvent(event, metadata):
        return double(event)
  `;
  const [outcome] = await sandbox.run(python(code, { libraries }), batch({}));
  expect(outcome).toEqual({
    error: {
      message:
        "AttributeError: 'dict' object has no attribute 'price'\n" +
        "    at double (library money:2:12)\n    at transformEvent (My T:3:12)",
      line: 2,
      column: 12,
      library: "money",
    },
  });
});

test("a Python exception that cannot be shown, is empty or ends Python is reported like others", async () => {
  const code = `
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError
    def transformEvent(event, metadata):
        raise [Odd(), ValueError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit(),
               StopIteration(1), ExceptionGroup("g", [ValueError(1)]), BaseException("b")][event["n"]]
  `;
  const outcomes = await run(code, ...Array.from({ length: 8 }, (_, n) => ({ n })));
  expect(outcomes.map((text) => String(text).split("\n")[0])).toEqual([
    "Odd: The error cannot be shown",
    "ValueError",
    "SystemExit: 3",
    "KeyboardInterrupt",
    "GeneratorExit",
    "StopIteration: 1",
    "ExceptionGroup: g (1 sub-exception)",
    "BaseException: b",
  ]);
});

test("a Python exception whose class runs code when it is shown fails its own event alone", async () => {
  const code = `
    class Text(str):
        def __format__(self, form):
            raise ValueError
        __bool__ = __len__ = __format__
    class Kind(type):
        @property
        def __name__(cls):
            raise ValueError
    class Odd(Exception, metaclass=Kind):
        __traceback__ = 5
        def __str__(self):
            if self.args[0] == 1:
                raise SystemExit
            return Text("odd")
    def transformEvent(event, metadata):
        raise Odd(event["n"])
  `;
  expect(await run(code, { n: 0 }, { n: 1 })).toEqual([
    expect.stringMatching(/^Odd: odd\n {4}at transformEvent/),
    expect.stringMatching(/^Odd: The error cannot be shown\n/),
  ]);
});

test("async functions run", async () => {
  const code = `
    import asyncless as aio
    async def twice(n):
        return n * 2
    async def transformEvent(event, metadata):
        return {"n": await aio.plus(await twice(event["n"]))}
  `;
  const libraries = [library("asyncless", "async def plus(n):\n    return n + 1\n")];
  const outcomes = await sandbox.run(python(code, { libraries }), batch({ n: 1 }, { n: 2 }));
  expect(shown(outcomes)).toEqual([[{ n: 3 }], [{ n: 5 }]]);
});

test("a promise that never settles, and a loop that never ends, have different errors", async () => {
  const code = `
    class Never:
        def __await__(self):
            yield
    async def transformEvent(event, metadata):
        await Never()
  `;
  expect(await run(code, {})).toEqual(["TimeoutError: Timed out"]);
});

test("metadata is found by the messageId that came in", async () => {
  const code = `
    def transformEvent(event, metadata):
        event["messageId"] = "changed"
        found = metadata({"messageId": event["was"]})
        found["mine"] = True
        return {"found": metadata({"messageId": event["was"]}), "unknown": metadata(event)}
  `;
  expect(await run(code, { messageId: "a", was: "a" }, { messageId: "b", was: "b" })).toEqual([
    [{ found: { sourceId: "s1", messageId: "a" }, unknown: {} }],
    [{ found: { sourceId: "s1", messageId: "b" }, unknown: {} }],
  ]);
});

test("metadata of events without a messageId is that of each", async () => {
  const code = `
    def transformEvent(event, metadata):
        return {"of": event["event"], **metadata(event), "copied": metadata(dict(event))}
  `;
  const batchwise = `
    def transformBatch(events, metadata):
        events.reverse()
        return [{"names": [metadata(event)["eventName"] for event in events]}]
  `;
  expect(shown(await sandbox.run(python(code), nameless))).toEqual([
    [{ of: "one", eventName: "one", copied: {} }],
    [{ of: "two", eventName: "two", copied: {} }],
    [{ of: "three", eventName: "three", copied: {} }],
  ]);
  expect(shown(await sandbox.run(python(batchwise), nameless))).toEqual([
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
  const code = `
    def transformEvent(event, metadata):
        own = metadata(event)["sourceId"]
        copied = metadata(dict(event))["sourceId"]
        event["messageId"] = "other"
        return {"own": own, "copied": copied, "renamed": metadata(event)}
  `;
  expect(shown(await sandbox.run(python(code), given))).toEqual([
    [{ own: "x", copied: "y", renamed: {} }],
    [{ own: "y", copied: "y", renamed: {} }],
  ]);
});

test("getCredential answers the workspace's secrets, to the transformation alone", async () => {
  const code = `
    import lib
    def transformEvent(event, metadata):
        if event:
            getCredential()
        return {"key": getCredential("key"), "none": getCredential("none"), "odd": getCredential(5),
                "library": lib.has()}
  `;
  const libraries = [
    library(
      "lib",
      "def has():\n    try:\n        return getCredential('key')\n    except NameError:\n        return 'no'",
    ),
  ];
  const credentials = { key: "secret" };
  const outcomes = await sandbox.run(python(code, { libraries, credentials }), batch({}, { n: 1 }));
  expect(shown(outcomes)).toEqual([
    [{ key: "secret", none: null, odd: null, library: "no" }],
    "TypeError: Key should be valid and defined\n    at transformEvent (My T:4:9)",
  ]);
});

test("geolocation answers what the host knows, and says what is wrong", async () => {
  const code = `
    def transformEvent(event, metadata):
        return {"at": geolocation(event["ip"]), "n": event["n"]}
  `;
  const ips = ["203.0.113.7", "203.0.113.8", "203.0.113.9", "nowhere", "", "203.0.113.7"];
  const outcomes = await run(code, ...ips.map((ip, n) => ({ ip, n })));
  const at = "\n    at transformEvent (My T:2:19)";
  expect(outcomes).toEqual([
    [{ at: { country: { isoCode: "CH", name: "Zürich" } }, n: 0 }],
    [{ at: {}, n: 1 }],
    `ValueError: geolocation is not available right now${at}`,
    `ValueError: invalid ip address${at}`,
    `ValueError: ip address is required${at}`,
    [{ at: { country: { isoCode: "CH", name: "Zürich" } }, n: 5 }],
  ]);
});

const batches: [name: string, body: string, outcomes: unknown[]][] = [
  ["all", "return events", [[{ messageId: "a" }], [{ messageId: "b" }]]],
  ["none", "return []", [[], []]],
  ["in another order", "return events[::-1]", [[{ messageId: "a" }], [{ messageId: "b" }]]],
  [
    "more than came",
    "return [{'messageId': 'b'}, {'n': 1}, {'messageId': 'a'}]",
    [[{ messageId: "a" }], [{ messageId: "b" }, { n: 1 }]],
  ],
  [
    "one that is none",
    "return [events[0], 5]",
    [
      [{ messageId: "a" }],
      "returned event in events array from transformBatch(events) is not an object",
    ],
  ],
  [
    "no list",
    "return None",
    new Array(2).fill("returned events from transformBatch(event) is not an array"),
  ],
  [
    "an error",
    "raise ValueError('all')",
    new Array(2).fill("ValueError: all\n    at transformBatch (My T:2:5)"),
  ],
];

test.each(batches)("transformBatch returns %s", async (_, body, outcomes) => {
  const code = `def transformBatch(events, metadata):\n    ${body}\n`;
  expect(await run(code, { messageId: "a" }, { messageId: "b" })).toEqual(outcomes);
});

test("a question to the host that is too long is refused like one of JavaScript", async () => {
  const code = `
    def transformEvent(event, metadata):
        try:
            geolocation(event["letter"] * event["length"])
        except ValueError as error:
            return {"error": str(error)}
  `;
  const long = "Expected a request of at most 1048576 characters";
  expect(
    await run(
      code,
      { letter: "x", length: 4 << 20 },
      { letter: "😀", length: 1 << 20 },
      { letter: "x", length: 9 },
    ),
  ).toEqual([[{ error: long }], [{ error: long }], [{ error: "invalid ip address" }]]);
});

test("an exception of transformBatch fails only the events for which it is raised", async () => {
  const code = `
    def transformBatch(events, metadata):
        for event in events:
            event["runs"] = event.get("runs", 0) + 1
            log(event["n"])
        if any(event["n"] == 2 for event in events):
            raise ValueError("two")
        return events
  `;
  const events = batch({ n: 1 }, { n: 2 }, { n: 3 });
  const { outcomes, logs } = await runLogged(sandbox, python(code), events);
  expect(outcomes).toEqual([
    [{ n: 1, runs: 1 }],
    "ValueError: two\n    at transformBatch (My T:6:9)",
    [{ n: 3, runs: 1 }],
  ]);
  expect(logs).toEqual([1, 2, 3].map((n) => ({ text: `Log: ${n}`, event: n - 1, line: 4 })));
});

test("an event that is no object is the code's own affair", async () => {
  const code =
    "def transformEvent(event, metadata):\n    return {'event': event, **metadata(event)}\n";
  const events = ["5", '"a"', "[1]", "null"].map((text) => Buffer.from(text));
  const metadata = events.map(() => unsharedMetadata({}));
  const outcomes = await sandbox.run(python(code), { events, metadata });
  expect(shown(outcomes)).toEqual([5, "a", [1], null].map((event) => [{ event }]));
});

test("an integer with more digits than Python reads is a float, as in JavaScript", async () => {
  const long = "1".repeat(4_301);
  const code = `
    def transformEvent(event, metadata):
        return {key: str(value)[:5] for key, value in event.items()}
  `;
  const events = ['{"n":1}', `{"n":${long}}`, `{"n":-${long},"m":2}`].map((it) => Buffer.from(it));
  const metadata = events.map(() => unsharedMetadata({}));
  expect(shown(await sandbox.run(python(code), { events, metadata }))).toEqual([
    [{ n: "1" }],
    [{ n: "inf" }],
    [{ n: "-inf", m: "2" }],
  ]);
});

test("an output of transformBatch belongs to the event with the same number as messageId", async () => {
  const code = `
    def transformBatch(events, metadata):
        return [{**event, "row": metadata({**event})["row"]} for event in events[1:]]
  `;
  const ids = [7, 8.5, "9"];
  const events = ids.map((messageId) => Buffer.from(JSON.stringify({ messageId })));
  const metadata = ids.map((_, row) => unsharedMetadata({ row }));
  expect(shown(await sandbox.run(python(code), { events, metadata }))).toEqual([
    [],
    [{ messageId: 8.5, row: 1 }],
    [{ messageId: "9", row: 2 }],
  ]);
});

test("a large batch goes through in parts, in order", async () => {
  const code = `
    def transformEvent(event, metadata):
        return {"n": event["n"], "length": len(event["text"])}
  `;
  const text = "x".repeat(100_000);
  const events = Array.from({ length: 60 }, (_, n) => ({ n, text }));
  const outcomes = await run(code, ...events);
  expect(outcomes.map((one) => (one as { n: number }[])[0]!.n)).toEqual(events.map(({ n }) => n));
});

test("a batch asks no more than it may, and code can catch that it may not", async () => {
  const code = `
    def transformEvent(event, metadata):
        known = 0
        message = ""
        for _ in range(3000):
            try:
                geolocation("192.0.2.1")
                known += 1
            except ValueError as error:
                message = str(error)
        return {"known": known, "message": message}
  `;
  const message = "Expected at most 1000 fetches in a batch";
  for (let round = 0; round < 2; round += 1) {
    expect(await run(code, {})).toEqual([[{ known: 1_000, message }]]);
  }
});
