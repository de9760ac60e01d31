import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Guest } from "../../../src/sandbox/process/guest.ts";
import { languageProfiles } from "../../../src/sandbox/process/language-profiles.ts";
import { type GuestFrame, jsonArrayBytes } from "../../../src/sandbox/protocol/guest-frames.ts";
import { guestCommand, PATIENCE_MS } from "../support.ts";
import { dedent } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

/** One guest, asked directly: the host's deadline is far away, so that only its own can stop it. */
let guest: Guest;
beforeAll(async () => {
  guest = new Guest(guestCommand, "python", languageProfiles.python);
  await guest.start(false);
});
afterAll(() => guest.kill("retired"));

const allowance = { cpuMs: 30_000, wallMs: 50_000, replyBytesMax: 1 << 20 };
/** Without the number of its question. */
const headerOf = ({ header }: GuestFrame) => {
  const { exchange: _, ...rest } = header as Record<string, unknown>;
  return rest;
};

async function load(program: number, code: string): Promise<void> {
  const request = { kind: "load", program, name: "My T", code: dedent(code) } as const;
  const rest = { libraries: [], credentials: {}, drop: [], budgetMs: 5_000 };
  const reply = await guest.request({ ...request, ...rest }, [], allowance, headerOf);
  expect(reply).toEqual({ kind: "loaded" });
}

function run(program: number, ...events: object[]): Promise<unknown> {
  const texts = events.map((event) => Buffer.from(JSON.stringify(event)));
  const metadata = events.map(() => Buffer.from("{}"));
  const sizes = { count: events.length, eventsBytes: jsonArrayBytes(texts) };
  const times = { budgetMs: 500, cpuMs: 500 };
  return guest.request(
    { kind: "run", program, ...sizes, ...times, logsMax: 0, logsCharsMax: 0 },
    [texts, metadata],
    allowance,
    headerOf,
  );
}

/** Endless code for the event `{ bad: true }`, which Python can interrupt. */
const endless = [
  "while True: pass",
  "9 ** 9 ** 9",
  "re.match('(x+x+)+y', 'x' * 65536)",
  "[None for _ in iter(int, 1)]",
  "sorted(range(100), key=lambda _: [None for _ in iter(int, 1)])",
];

test.each(endless)(
  "a guest stops %s by itself, and tells whose turn it was",
  async (expression) => {
    const body = expression.startsWith("while") ? expression : `return {"value": ${expression}}`;
    await load(
      1,
      `
      import re
      seen = 0
      def transformEvent(event, metadata):
          global seen
          seen += 1
          if event["bad"]:
              ${body.replace("9 ** 9 ** 9", "event['nine'] ** 9 ** 9")}
          return {"seen": seen}
    `,
    );
    const bad = { bad: true, nine: 9 };
    expect(await run(1, { bad: false }, bad, { bad: false })).toEqual({
      kind: "ran",
      counts: [1, -2, -2],
      errors: [],
      logs: [],
      stopped: { reason: "timeout", culprit: 1 },
    });
    // The same guest continues.
    expect(await run(1, { bad: false })).toMatchObject({ counts: [1] });
  },
);

test("a program that catches the exception of the time limit is stopped nevertheless", async () => {
  await load(
    2,
    `
      def transformEvent(event, metadata):
          try:
              while True: pass
          except BaseException:
              return event
    `,
  );
  expect(await run(2, {}, {})).toMatchObject({
    counts: [-2, -2],
    stopped: { reason: "timeout", culprit: 0 },
  });
});
