import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { defaultLimits } from "../../../src/sandbox/limits.ts";
import { GUEST_LOGS_CHARS_MAX, GUEST_LOGS_MAX } from "../../../src/settings/limits.ts";
import { sample } from "../../tier.ts";
import {
  batch,
  childProcesses,
  eventually,
  PATIENCE_MS,
  residentBytes,
  shown,
} from "../support.ts";
import { hastyPython, python, pythonSandbox } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = pythonSandbox();
/** For code that loops. */
const strict = pythonSandbox({ limits: hastyPython });
/** Its guests hold no memory of earlier tests, which brings a guest's replacement closer. */
const warm = pythonSandbox();
afterAll(() => Promise.all([sandbox, strict, warm].map((it) => it.close())));

const TIMED_OUT = "Script execution timed out.";
const CRASHED = "Script crashed its guest, most likely at its memory limit";
const TOO_DEEP = "Script crashed its guest: its calls or its data are nested too deep";

/** Code of an event with `bad` set, and the outcome of that event alone. */
const excesses: [name: string, body: string, outcome: string][] = [
  ["loops", "while True: pass", TIMED_OUT],
  ["fills the heap", "[bytearray(1_000_000) for _ in range(10**6)]", CRASHED],
  ["asks for more than the heap", "bytearray(1 << 30)", CRASHED],
  ["parses deep JSON", '__import__("json").loads("[" * 100_000 + "]" * 100_000)', TOO_DEEP],
  [
    "catches what it cannot of deep JSON",
    `try: __import__("json").loads('{"a":' * 100_000)
            except BaseException: pass`,
    TOO_DEEP,
  ],
];

test.each(sample(excesses))("an event that %s costs itself alone", async (_, body, outcome) => {
  const program = python(`
    def transformEvent(event, metadata):
        if event["bad"]:
            ${body}
        return event
  `);
  const events = Array.from({ length: 5 }, (_, n) => ({ n, bad: n === 2 }));
  const fitting = outcome === TIMED_OUT ? strict : sandbox;
  const outcomes = shown(await fitting.run(program, batch(...events)));
  expect(outcomes).toEqual(events.map((event) => (event.bad ? outcome : [event])));
});

test("a guest holds what its programs keep, up to the limit", async () => {
  const program = python(`
    kept = []
    def transformEvent(event, metadata):
        kept.append(bytearray(b"x") * 20_000_000)
        return {"kept": len(kept)}
  `);
  const run = async () => shown(await sandbox.run(program, batch({})))[0];
  for (let kept = 1; kept <= 5; kept += 1) expect(await run()).toEqual([{ kept }]);
  // Then it is replaced between two batches, and no event fails.
  let kept = 5;
  for (let more = 0; more < 20 && kept > 1; more += 1) {
    const outcome = await run();
    expect(outcome).toBeArray();
    kept = (outcome as [{ kept: number }])[0].kept;
  }
  expect(kept).toBe(1);
});

test("a Python guest stays warm after its first batch, and after one that takes long", async () => {
  const program = python(`
    import time
    n = 0
    def transformEvent(event, metadata):
        global n
        end = time.monotonic() + event["seconds"]
        while time.monotonic() < end:
            pass
        n += 1
        return {"n": n}
  `);
  for (const [index, seconds] of [0, 0, 0.6, 0].entries()) {
    expect(shown(await warm.run(program, batch({ seconds })))).toEqual([[{ n: index + 1 }]]);
  }
});

test("a Python guest takes its memory once, and spares come with the first program", async () => {
  const other = pythonSandbox({ limits: { spares: defaultLimits.spares } });
  try {
    const before = new Set(childProcesses());
    const program = python("def transformEvent(event, metadata):\n    return event\n");
    for (let n = 0; n < 50; n += 1) await other.run(program, batch({ n }));
    const mine = childProcesses().filter((pid) => !before.has(pid));
    expect(mine.length).toBeLessThanOrEqual(2);
    for (const pid of mine) expect(residentBytes(pid)).toBeLessThan(400 << 20);
    await other.close();
    await eventually(() => mine.every((pid) => !existsSync(`/proc/${pid}`)));
  } finally {
    await other.close();
  }
});

test("logs are bounded in number, length and all together, whatever their characters", async () => {
  const logging = (line: string) =>
    python(`
    def transformEvent(event, metadata):
        for n in range(1_500):
            log(${line})
        raise ValueError("😀" * 10_000)
  `);
  const short = await sandbox.check(logging('"😀"'), batch({}));
  expect(short.logs.length).toBe(GUEST_LOGS_MAX);
  const report = await sandbox.check(logging('"😀" * 3_000'), batch({}));
  const chars = report.logs.reduce((sum, line) => sum + line.text.length, 0);
  expect(chars).toBeGreaterThan(GUEST_LOGS_CHARS_MAX / 2);
  expect(chars).toBeLessThanOrEqual(GUEST_LOGS_CHARS_MAX);
  expect(report.logs[0]!.text).toStartWith("Log: 😀");
  expect(report.logs[0]!.text.length).toBe(4_096);
  const [outcome] = report.outcomes as [{ error: { message: string; line: number } }];
  expect(outcome.error.message.length).toBe(4_096);
  expect(outcome.error.line).toBe(4);
});
