import { expect, test } from "bun:test";
import { WEBHOOK_HEADERS_MAX } from "../../../src/destinations/webhook/limits.ts";
import { RequestBuildError } from "../../../src/destinations/webhook/request-build-error.ts";
import { overridesKey, overridesOf } from "../../../src/destinations/webhook/request-overrides.ts";
import { outgoing } from "../outgoing.ts";

const ofCode = (event: unknown) => outgoing(event, {}, true);

const urls = { appendPath: "/a", fullPath: "http://h" };
/** Events of user code, and the text and the overrides of their requests. */
test.each([
  [{ header: { A: "1", b: 2, c: null, d: "" } }, {}, { headers: { a: "1", b: "2", c: "null" } }],
  [{ x: 1, header: {} }, { x: 1 }, { headers: {} }],
  [{ header: "text", x: 1 }, { x: 1 }, { headers: {} }],
  [{ header: [] }, {}, { headers: {} }],
  [urls, {}, { headers: {}, ...urls }],
  [{ appendPath: "/a" }, {}, { headers: {}, appendPath: "/a" }],
  [
    { fullPath: "http://h", appendPath: "" },
    { appendPath: "" },
    { headers: {}, fullPath: "http://h" },
  ],
  [
    { appendPath: 7, integrations: { Webhook: urls } },
    { integrations: { Webhook: urls } },
    { headers: {}, ...urls },
  ],
  [
    { fullPath: "http://own", integrations: { All: true, wEbhOOk: urls } },
    { integrations: { All: true, wEbhOOk: urls } },
    { headers: {}, appendPath: "/a", fullPath: "http://own" },
  ],
  [
    { integrations: { webhook: "text", WEBHOOK: urls } },
    { integrations: { webhook: "text", WEBHOOK: urls } },
    { headers: {}, ...urls },
  ],
  [
    { appendPath: "/a", integrations: { webhook: null, WEBHOOK: { fullPath: "http://h" } } },
    { integrations: { webhook: null, WEBHOOK: { fullPath: "http://h" } } },
    { headers: {}, ...urls },
  ],
  [
    { appendPath: "/a", integrations: "Webhook" },
    { integrations: "Webhook" },
    { headers: {}, appendPath: "/a" },
  ],
  [
    { appendPath: "/a", integrations: null },
    { integrations: null },
    { headers: {}, appendPath: "/a" },
  ],
] as [object, object, object][])("%j is sent as %j with %j", (event, body, overrides) => {
  const found = overridesOf(ofCode(event))!;
  expect([JSON.parse(found.text), found.overrides]).toEqual([body, overrides as never]);
  expect(overridesKey(ofCode(event))).toBe(JSON.stringify(found.overrides));
});

test.each([
  { x: 1 },
  { header: null },
  { header: false, appendPath: "", fullPath: null },
  { fullPath: ["http://h"] },
  { appendPath: "", integrations: { webhook: { header: { a: "1" }, fullPath: 1 } } },
  { appendPath: "", integrations: { webhooks: urls, other: urls } },
  { nested: { appendPath: "/a" } },
])("%j overrides nothing", (event) => {
  expect(overridesOf(ofCode(event))).toBeUndefined();
  expect(overridesKey(ofCode(event))).toBe("");
});

test("an event that no code made overrides nothing", () => {
  expect(overridesOf(outgoing({ header: { a: "1" }, ...urls }))).toBeUndefined();
});

const named = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`h${n}`, "1"]));
test.each([
  [{ "a b": "1" }, /in header "a b"$/],
  [{ "": "1" }, /in header ""$/],
  [{ a: "1\n" }, /in header "a"$/],
  [{ a: "é€" }, /in header "a"$/],
  [{ ["ü".repeat(70)]: "1" }, new RegExp(`in header "${"ü".repeat(64)}"$`)],
  [named(WEBHOOK_HEADERS_MAX + 1), /with at most \d+ names, got \d+$/],
] as [object, RegExp][])("headers like %j are refused", (header, message) => {
  expect(() => overridesOf(ofCode({ header }))).toThrow(RequestBuildError);
  expect(() => overridesOf(ofCode({ header }))).toThrow(message);
  expect(overridesKey(ofCode({ header }))).toBe("refused");
});

test("as many headers as WEBHOOK_HEADERS_MAX are set, beside empty ones", () => {
  const header = { ...named(WEBHOOK_HEADERS_MAX), empty: "" };
  expect(overridesOf(ofCode({ header }))?.overrides.headers).toEqual(named(WEBHOOK_HEADERS_MAX));
});
