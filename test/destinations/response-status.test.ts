import { expect, test } from "bun:test";
import { retryAfterMs } from "../../src/destinations/retry-after.ts";
import { failureOf } from "../../src/destinations/s3/failures.ts";
import { resultOfStatus } from "../../src/destinations/webhook/response-status.ts";
import type { EgressResponse } from "../../src/egress/egress.ts";
import { RETRY_AFTER_MS_MAX } from "../../src/settings/limits.ts";

const now = Date.parse("2026-11-28T12:00:00Z");
const response = (status: number, headers = {}, body = ""): EgressResponse => ({
  ...{ status, headers, body: Buffer.from(body) },
});

test.each([
  [undefined, undefined],
  ["", undefined],
  ["soon", undefined],
  ["1.5", undefined],
  ["-5", undefined],
  ["2030-01-01T00:00:00Z", undefined],
  ["Saturday, 28-Nov-26 12:00:05 GMT", 5_000],
  ["0", 0],
  [" 7 ", 7_000],
  ["1".repeat(30), RETRY_AFTER_MS_MAX],
  ["Sat, 28 Nov 2026 12:00:05 GMT", 5_000],
  ["Sat, 28 Nov 2026 11:59:00 GMT", 0],
  ["Sun, 28 Nov 2027 12:00:00 GMT", RETRY_AFTER_MS_MAX],
])("the header Retry-After %p asks for a delay of %p ms", (header, ms) => {
  expect(retryAfterMs(header, now)).toBe(ms);
});

test.each([
  [199, "rejected", undefined],
  [200, "delivered", undefined],
  [299, "delivered", undefined],
  [300, "rejected", undefined],
  [399, "rejected", undefined],
  [400, "rejected", undefined],
  [408, "retry", undefined],
  [425, "retry", undefined],
  [429, "retry", undefined],
  [499, "rejected", undefined],
  [500, "retry", "event"],
  [501, "retry", "event"],
  [502, "retry", undefined],
  [503, "retry", undefined],
  [504, "retry", undefined],
  [599, "retry", "event"],
] as const)("a webhook's answer %d is %s, with the scope %p", (status, kind, scope) => {
  const result = resultOfStatus(response(status, { "retry-after": "3" }), () => ["s"]);
  if (kind === "delivered") return void expect(result).toEqual({ kind });
  const isRedirect = status >= 300 && status < 400;
  expect(result).toEqual({
    kind,
    reason: `HTTP ${status} from receiver${isRedirect ? "; redirects are not followed" : ""}`,
    answer: { status, headers: { "retry-after": "3" }, body: Buffer.from(""), sent: ["s"] },
    ...(kind === "retry" && { afterMs: 3_000 }),
    ...(scope !== undefined && { scope }),
  });
});

test("a webhook's failure without Retry-After has no delay", () => {
  const answer = { status: 503, headers: {}, body: Buffer.from("") };
  const reason = "HTTP 503 from receiver";
  expect(resultOfStatus(response(503))).toStrictEqual({ kind: "retry", reason, answer });
});

const code = (text: string) => `<?xml?><Error><Code>${text}</Code></Error>`;
const region = { "x-amz-bucket-region": "eu-west-1" };

test.each([
  ["GET", response(200), undefined],
  ["PUT", response(200, { etag: '"x"' }), undefined],
  ["PUT", response(299), "The server does not answer as an object store does (299 without ETag)"],
  ["PUT", response(300), "The store refuses (300)"],
  [
    "PUT",
    response(403, {}, code("AccessDenied")),
    "The access key lacks the permission (403 AccessDenied)",
  ],
  ["GET", response(403, {}, code("New")), "The store refuses (403 New)"],
  ["GET", response(403, {}, code("<b>")), "The store refuses (403)"],
  ["GET", response(403, {}, code("x".repeat(65))), "The store refuses (403)"],
  [
    ...["GET", response(301, region, code("PermanentRedirect"))],
    "The bucket is at another endpoint, in eu-west-1 (301 PermanentRedirect)",
  ],
  ["GET", response(400, region), "The store refuses (400)"],
  ["GET", response(301, { "x-amz-bucket-region": "<b>" }), "The store refuses (301)"],
] as [string, EgressResponse, string | undefined][])(
  "the failure of an object store's request %s has a reason: %o",
  (method, answer, reason) => {
    expect(failureOf(method, answer)?.reason).toBe(reason as string);
  },
);

test("a failure of an object store says whether the credentials are wrong, and when to try again", () => {
  const failure = failureOf("PUT", response(403, { "retry-after": "2" }, code("ExpiredToken")))!;
  expect(failure).toMatchObject({ isOfSignIn: true, afterMs: 2_000 });
  expect(failure.answer).toMatchObject({ status: 403, code: "ExpiredToken" });
  const other = failureOf("PUT", response(503, {}, code("SlowDown")))!;
  expect(other.isOfSignIn).toBe(false);
  expect("afterMs" in other).toBe(false);
  const none = failureOf("PUT", response(503))!;
  expect(none.isOfSignIn).toBe(false);
  expect("code" in none.answer).toBe(false);
  expect(failureOf("PUT", response(200))!.isOfSignIn).toBe(false);
});
