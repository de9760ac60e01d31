import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { DeadLetters } from "../../src/pipeline/dead-letters/dead-letters.ts";
import { reasonTemplate } from "../../src/pipeline/ledger/group-name.ts";
import { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import {
  RESPONSES_BYTES_MAX,
  RESPONSES_OF_DESTINATION_BYTES_MAX,
} from "../../src/pipeline/ledger/letter-responses.ts";
import type { NewLetter } from "../../src/pipeline/model/dead-letter.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { commitLetters } from "./doubles.ts";

const root = mkdtempSync(join(tmpdir(), "responses-"));
afterAll(() => rmSync(root, { recursive: true }));
const logger = pino({ level: "silent" });
let directories = 0;

function open() {
  const path = join(root, String(directories++));
  const store = openStore({ path, name: "The ledger", logger });
  const ledger = new Ledger(store, logger);
  const responses = () => [
    ...store.table<unknown, [string, string]>("letter-responses").getRange({}),
  ];
  const bytes = () => responses().reduce((sum, it) => sum + JSON.stringify(it.value).length, 0);
  return {
    store,
    ledger,
    responses,
    bytes,
    shown: new DeadLetters(
      () => [ledger],
      () => {},
      Date.now,
    ),
  };
}

let letters = 0;
function letter(over: Partial<NewLetter> = {}, at = 1_000): NewLetter {
  // Ascending, also within a millisecond.
  const id = `${Bun.randomUUIDv7("hex", at).slice(0, 19)}${String(letters++).padStart(17, "0")}`;
  return {
    ...{ id, workspaceId: "w", destinationId: "d", sourceId: "s", messageId: "m", text: "{}" },
    ...{ stage: "deliver", reason: "HTTP 422 from receiver", attempts: 1, user: "u" },
    ...{ type: "track", receivedAt: 0, createdAt: at, status: 422 },
    ...over,
  };
}

const answer = (body: string) => ({ response: { status: 422, body } });
const longText = (n: number) => `${n}`.padStart(2_000, "x");

test("10,000 dead letters of one failure, each with another response, keep four responses", async () => {
  const { ledger, shown, responses, bytes } = open();
  const all = Array.from({ length: 10_000 }, (_, n) => letter(answer(longText(n))));
  await commitLetters(ledger, all);
  expect(shown.count("w")).toBe(10_000);
  expect(responses().length).toBeLessThanOrEqual(4 + 2);
  expect(bytes()).toBeLessThan(12_000);
  expect(shown.get("w", all[0]!.id)!.response).toEqual({ status: 422, body: longText(0) });
  const { response } = shown.get("w", all[9_999]!.id)!;
  expect(response).toEqual({ status: 422, body: longText(3), isSample: true });
  const [group] = shown.groups("w");
  expect(group).toMatchObject({ count: 10_000, status: 422 });
  expect(shown.group("w", group!.id)!.responses.map((it) => it.response.body)).toEqual(
    [3, 2, 1, 0].map(longText),
  );
  expect(shown.group("v", group!.id)).toBeUndefined();
  // A row of a letter has no response of its own.
  expect(JSON.stringify(ledger.letters.get("w", all[0]!.id))).not.toContain("xxx");
  await ledger.close();
}, 300_000);

test("equal responses are kept once, and a new one replaces the oldest after a minute", async () => {
  const { ledger, shown } = open();
  const same = [letter(answer("same")), letter(answer("same"))];
  await commitLetters(ledger, same);
  const { id } = shown.groups("w")[0]!;
  const bodies = () => shown.group("w", id)!.responses.map(({ response }) => response.body);
  expect(bodies()).toEqual(["same"]);
  expect(shown.get("w", same[1]!.id)!.response).toEqual({ status: 422, body: "same" });
  for (const text of ["b", "c", "d", "e"]) await commitLetters(ledger, [letter(answer(text))]);
  expect(bodies()).toEqual(["d", "c", "b", "same"]);
  await commitLetters(ledger, [letter(answer("f"), 62_000)]);
  expect(bodies()).toEqual(["f", "d", "c", "b"]);
  expect(shown.get("w", same[0]!.id)!.response).toMatchObject({ body: "f", isSample: true });
  await ledger.close();
});

test("a dead letter of the group for other reasons shows a response with its own status", async () => {
  const { ledger, shown } = open();
  const reasonOf = (n: number) => `No ${String.fromCharCode(97 + (n % 26), 97 + n / 26)}`;
  const others = Array.from({ length: 200 }, (_, n) => letter({ reason: reasonOf(n) }));
  const answers = [422, 500, 500, 500, 422, 404].map((status, n) => {
    const response = { status, body: reasonOf(n) };
    return letter({ reason: `Other ${reasonOf(n)}`, status, response });
  });
  await commitLetters(ledger, [...others, ...answers]);
  const responseOf = (n: number) => shown.get("w", answers[n]!.id)!.response;
  expect(responseOf(3)).toEqual({ status: 500, body: reasonOf(3) });
  // Four responses are stored.
  expect(responseOf(4)).toEqual({ status: 422, body: reasonOf(0), isSample: true });
  expect(responseOf(5)).toEqual({ status: 404 });
  await ledger.close();
});

test("the responses of a destination, and of all, are bounded, and go with their dead letters", async () => {
  const { ledger, shown, bytes, responses } = open();
  const text = "y".repeat(2_000);
  const all = Array.from({ length: 800 }, (_, n) => {
    const code = `code${n % 190}`;
    return letter({ reason: code, code, response: { code, body: text + n } });
  });
  await commitLetters(ledger, all);
  expect(bytes()).toBeGreaterThan(RESPONSES_OF_DESTINATION_BYTES_MAX * 0.9);
  expect(bytes()).toBeLessThan(RESPONSES_OF_DESTINATION_BYTES_MAX * 1.02);
  expect(RESPONSES_BYTES_MAX).toBeGreaterThan(RESPONSES_OF_DESTINATION_BYTES_MAX);
  await shown.purge(
    "w",
    all.map(({ id }) => id),
  );
  expect(responses().map(({ key, value }) => [...key, value])).toEqual([["", "", 0]]);
  await ledger.close();
}, 300_000);

test("no response is stored once those of all destinations take as much as they may", async () => {
  const { store, ledger, shown, responses } = open();
  const table = store.table<unknown, [string, string]>("letter-responses");
  await store.change(() => table.put(["", ""], RESPONSES_BYTES_MAX - 100));
  const [long, short] = [letter(answer("z".repeat(100))), letter(answer("short"))];
  await commitLetters(ledger, [long, short]);
  expect(shown.get("w", long.id)!.response).toMatchObject({ body: "short", isSample: true });
  expect(shown.get("w", short.id)!.response).toEqual({ status: 422, body: "short" });
  expect(responses()).toHaveLength(3);
  await ledger.close();
});

const alike: [string, string][] = [
  [
    "TypeError: Cannot read properties of undefined (reading 'title')",
    "TypeError: Cannot read properties of undefined (reading 'price')",
  ],
  ["The code is suspended for 1 s", "The code is suspended for 16 s"],
  ["The code is suspended for 500 ms", "The code is suspended for 2.5 s"],
  [
    "No order 17 of user 8f14e45f-ceea-467f-a9c0-0123456789ab",
    "No order 9 of user abcdefab-ceea-467f-a9c0-ffffffffffff",
  ],
  ['Expected a number, got "abc"', 'Expected a number, got "it\'s"'],
  ["Failed at 2026-02-16T01:11:11.586Z", "Failed at 2025-12-01T00:00:00+01:00"],
  ["ada@example.com is unknown", "bob.b@example.org is unknown"],
  ["Bad list [1, 2, 3]", "Bad list [1]"],
  [
    "Connect to 10.0.0.1:5432 failed (ECONNREFUSED)",
    "Connect to 192.168.17.2:5433 failed (ECONNREFUSED)",
  ],
];
test.each(alike)("two reasons that differ in values alone are one group: %s", (one, other) => {
  expect(reasonTemplate(one)).toBe(reasonTemplate(other));
});

const unlike: [string, string][] = [
  ["HTTP 422 from receiver", "HTTP 503 from receiver"],
  ["Topic t (topic t, error 3)", "Topic t (topic t, error 29)"],
  ["HTTP 404 from enrichment", "HTTP 500 from enrichment"],
  ["can't read list of users", "can't read list of orders"],
  ["The connection failed (ECONNREFUSED)", "The connection failed (ETIMEDOUT)"],
];
test.each(unlike)("two reasons that differ in words are two groups: %s", (one, other) => {
  expect(reasonTemplate(one)).not.toBe(reasonTemplate(other));
});
