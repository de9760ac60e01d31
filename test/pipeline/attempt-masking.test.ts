import { expect, test } from "bun:test";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { AttemptMasking } from "../../src/pipeline/delivering/attempt-masking.ts";
import { createOutput } from "../../src/pipeline/model/lane-event.ts";
import { laneEvent } from "./doubles.ts";

const kind = { kind: "test", secretKeys: [{ path: "password" }] } as unknown as DestinationKind;
const output = createOutput(laneEvent(), Buffer.from("{}"));

/** The result of an attempt as it is shown, by a destination with a password. */
function shownBy(masking = new AttemptMasking(kind, { password: "the-password" })) {
  return (result: DeliveryResult) => masking.shown(result, [output], 1_000, 12.6);
}

test("a delivery without refused events has nothing to mask", () => {
  const result: DeliveryResult = { kind: "delivered" };
  expect(shownBy()(result)).toBe(result);
});

test("reasons of refused events are masked, and the attempt has no reason", () => {
  const refused = new Map([
    [0, "No the-password"],
    [2, "No such column"],
  ]);
  expect(shownBy()({ kind: "delivered", refused })).toEqual({
    kind: "delivered",
    refused: new Map([
      [0, "No ***"],
      [2, "No such column"],
    ]),
    attempt: { at: 1_000, durationMs: 13 },
  });
});

test("the reason and the answer of a refusal are masked, and the attempt has the status", () => {
  const answer = { status: 400, body: "You sent the-password" };
  expect(shownBy()({ kind: "rejected", reason: "HTTP 400 to the-password", answer })).toEqual({
    ...{ kind: "rejected", reason: "HTTP 400 to ***" },
    attempt: { at: 1_000, durationMs: 13, reason: "HTTP 400 to ***", status: 400 },
    response: { status: 400, body: "You sent ***" },
  });
  const other = shownBy()({ kind: "rejected", reason: "Error 7", answer: { code: "7" } });
  expect(other).toMatchObject({ response: { code: "7" } });
  expect(other.attempt).not.toHaveProperty("status");
});

test("a failure without an answer keeps its cause and the delay that the receiver asks for", () => {
  const result = { kind: "retry", reason: "No connection", scope: "event", afterMs: 5 } as const;
  expect(shownBy()(result)).toEqual({
    ...result,
    attempt: { at: 1_000, durationMs: 13, reason: "No connection" },
  });
});

test("secrets of each request are masked in its own answer, besides those of the settings", () => {
  const shown = shownBy();
  const reasonOf = (...sent: string[]) => {
    const answer = sent.length === 0 ? {} : { sent };
    const reason = "No the-password, first-token, second-token";
    return (shown({ kind: "rejected", reason, answer }) as { reason: string }).reason;
  };
  expect(reasonOf("first-token")).toBe("No ***, ***, second-token");
  expect(reasonOf("second-token")).toBe("No ***, first-token, ***");
  expect(reasonOf("first-token", "second-token")).toBe("No ***, ***, ***");
  expect(reasonOf()).toBe("No ***, first-token, second-token");
});
