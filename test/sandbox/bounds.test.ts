import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { pino } from "pino";
import { GUEST_BATCH_OUTPUT_BYTES_MAX } from "../../src/sandbox/guest-sandbox.ts";
import type { ProgramBatch, ProgramOutcome } from "../../src/sandbox/program.ts";
import { TestBudget } from "../../src/sandbox/test-budget.ts";
import { GUEST_LOGS_CHARS_MAX, TEST_OUTPUT_BYTES_MAX } from "../../src/settings/limits.ts";
import { runs } from "../tier.ts";
import { dedent, pythonSandbox } from "./python/support.ts";
import { batch, PATIENCE_MS, program, shown, testSandbox } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = pythonSandbox();
afterAll(() => sandbox.close());

const events = (count: number) => batch(...Array.from({ length: count }, (_, n) => ({ n })));
const bytesOf = (outcomes: readonly ProgramOutcome[]) =>
  outcomes
    .flatMap((outcome) => ("events" in outcome ? outcome.events : []))
    .reduce((sum, { length }) => sum + length, 0);

const inBothLanguages = (javascript: string, python: string) => [
  ["JavaScript", program(javascript)] as const,
  ["Python", program(dedent(python), { language: "python" })] as const,
];

test.each(
  inBothLanguages(
    "export const transformEvent = ({ n }) => (n === 1 ? Array(200_000).fill({}) : { n })",
    `
    def transformEvent(event, metadata):
        return [{}] * 200_000 if event["n"] == 1 else event
    `,
  ),
)("more outputs than an event may have are its error, in %s", async (_, code) => {
  const outcomes = shown(await sandbox.run(code, events(3)));
  expect(outcomes).toEqual([
    [{ n: 0 }],
    "Expected at most 1000 outputs of one event, got 200000",
    [{ n: 2 }],
  ]);
});

test.each(
  inBothLanguages(
    `const text = "a".repeat(7 << 20);
     export const transformEvent = ({ n }) => (n === 1 ? { text } : { n })`,
    `
    text = "a" * (7 << 20)
    def transformEvent(event, metadata):
        return {"text": text} if event["n"] == 1 else event
    `,
  ),
)("an output that is too large is its event's error, in %s", async (_, code) => {
  const outcomes = shown(await sandbox.run(code, events(3)));
  const message = "Output of one event is larger than 1048576 characters";
  expect(outcomes).toEqual([[{ n: 0 }], message, [{ n: 2 }]]);
});

test.each(
  inBothLanguages(
    `export const transformBatch = (events) =>
       events.flatMap((event) => (event.n === 1 ? Array(5_000).fill(event) : [event]))`,
    `
    def transformBatch(events, metadata):
        return [event for event in events for _ in range(5_000 if event["n"] == 1 else 1)]
    `,
  ),
)("so are those of transformBatch, in %s", async (_, code) => {
  const named = batch(...[0, 1, 2].map((n) => ({ n, messageId: `m${n}` })));
  const [first, second, third] = shown(await sandbox.run(code, named));
  expect([first, third]).toEqual([0, 2].map((n) => [{ n, messageId: `m${n}` }]));
  expect(second).toStartWith("Expected at most 1000 outputs of one event, got ");
});

const large = inBothLanguages(
  `const text = "a".repeat(500_000);
   export const transformEvent = ({ n }) => ({ n, text })`,
  `
  text = "a" * 500_000
  def transformEvent(event, metadata):
      return {"n": event["n"], "text": text}
  `,
);

test.each(large)("a batch with large outputs is run in parts, in %s", async (_, code) => {
  const all = events(40);
  const numbers: unknown[] = [];
  while (numbers.length < 40) {
    const rest: ProgramBatch = {
      events: all.events.slice(numbers.length),
      metadata: all.metadata.slice(numbers.length),
    };
    const outcomes = await sandbox.run(code, rest);
    expect(outcomes.length).toBeGreaterThan(0);
    expect(bytesOf(outcomes)).toBeLessThan(2 * GUEST_BATCH_OUTPUT_BYTES_MAX);
    for (const [output] of shown(outcomes) as [{ n: number }][]) numbers.push(output.n);
  }
  expect(numbers).toEqual(Array.from({ length: 40 }, (_, n) => n));
});

test("all tests of a request together keep a bounded amount of output", async () => {
  const budget = new TestBudget();
  const [, code] = large[0]!;
  const reports: ProgramOutcome[] = [];
  for (let n = 0; n < 8; n += 1) {
    reports.push(...(await sandbox.check(code, events(20), budget)).outcomes);
  }
  expect(reports).toHaveLength(160);
  expect(bytesOf(reports)).toBeLessThan(2 * TEST_OUTPUT_BYTES_MAX);
});

test.each(large)("a test run keeps a bounded amount of output, in %s", async (_, code) => {
  const { outcomes } = await sandbox.check(code, events(100));
  expect(outcomes).toHaveLength(100);
  expect(bytesOf(outcomes)).toBeLessThan(2 * TEST_OUTPUT_BYTES_MAX);
  expect(outcomes[0]).toHaveProperty("events");
  expect(shown(outcomes).at(-1)).toBe(
    "Outputs of the tests of one request may be 8388608 bytes together",
  );
});

test.each(
  inBothLanguages(
    `const text = "a".repeat(300_000);
     export const transformEvent = () => { for (let i = 0; i < 300; i += 1) log(i); return { text } }`,
    `
    def transformEvent(event, metadata):
        for i in range(300):
            log(i)
        return {"text": "a" * 300_000}
    `,
  ),
)("the lines of a test run are counted over all its parts, in %s", async (_, code) => {
  const { logs } = await sandbox.check(code, events(12));
  expect(logs).toHaveLength(1_000);
});

test.each(
  inBothLanguages(
    `export const transformEvent = () => { for (let i = 0; i < 90; i += 1) log("\\u4e2d".repeat(4_000)); return {} }`,
    `
    def transformEvent(event, metadata):
        for _ in range(90):
            log("\\u4e2d" * 4_000)
        return {}
    `,
  ),
)("long lines of a test run are bounded in all, in %s", async (_, code) => {
  const { outcomes, logs } = await sandbox.check(code, events(5));
  expect(shown(outcomes)).toEqual(Array(5).fill([{}]));
  const chars = logs.reduce((sum, { text }) => sum + text.length, 0);
  expect(chars).toBeGreaterThan(GUEST_LOGS_CHARS_MAX / 2);
  expect(chars).toBeLessThanOrEqual(GUEST_LOGS_CHARS_MAX);
});

test.each(
  inBothLanguages(
    `export const transformEvent = () => { throw new Error("\\u4e2d".repeat(4_000)) }`,
    `
    def transformEvent(event, metadata):
        raise ValueError("\\u4e2d" * 4_000)
    `,
  ),
)("many long errors are all told, the later ones by their start, in %s", async (_, code) => {
  const outcomes = shown(await sandbox.run(code, events(700))) as string[];
  expect(outcomes).toHaveLength(700);
  for (const message of outcomes) expect(message).toMatch(/Error: 中{50}/);
});

test("large events, two batches on their way at once, cost no guest and no event", async () => {
  const ended: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => ended.push(line) });
  const busy = testSandbox({ log });
  const code = program(`export const transformEvent = (event) => {
    event.properties.paths = event.properties.items.map(({ path }) => path.split("/").join(" "));
    return event;
  }`);
  const items = Array.from({ length: 100 }, (_, n) => ({ n, path: `a/b/${"c".repeat(200)}` }));
  const many = batch(
    ...Array.from({ length: 100 }, (_, n) => ({ messageId: `m${n}`, properties: { items } })),
  );
  const work = async () => {
    for (let round = 0; round < runs(5, 15); round += 1) {
      let rest = many;
      while (rest.events.length > 0) {
        const outcomes = await busy.run(code, rest);
        expect(outcomes.filter((outcome) => "error" in outcome)).toEqual([]);
        const { events, metadata } = rest;
        rest = { events: events.slice(outcomes.length), metadata: metadata.slice(outcomes.length) };
      }
    }
  };
  await Promise.all([work(), work()]);
  expect(ended).toEqual([]);
  await busy.close();
});
