import { expect, test } from "bun:test";
import type { LiveProgram } from "../../src/catalog/live.ts";
import {
  createDeadLetter,
  createRequeuedEvent,
} from "../../src/pipeline/dead-letters/letter-events.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import {
  createOutput,
  EVENT_OVERHEAD_BYTES,
  type EventOutcome,
} from "../../src/pipeline/model/lane-event.ts";
import { laneEvent } from "./doubles.ts";

const destination = { id: "d", workspaceId: "w" };
const live = { id: "program", transformation: { versionId: "v1" } } as LiveProgram;
const NOW = 1_700_000_000_000;

/** An output of an event that was received at the time 5. */
function outputOf(text: string, code?: LiveProgram, name?: string) {
  const event = laneEvent();
  const received = { ...event.input.event, json: Buffer.from('{"a":1}'), name };
  event.input = { ...event.input, receivedAt: 5, event: received };
  return createOutput(event, Buffer.from(text), code);
}

const letterOf = (output: ReturnType<typeof outputOf>, more: Partial<EventOutcome> = {}) => {
  const outcome = { kind: "dead-letter", stage: "deliver", reason: "No", ...more } as const;
  return createDeadLetter(output, outcome as never, destination, NOW);
};

test("a dead letter of an event that was sent as it came has its event once", () => {
  const output = outputOf('{"a":1}');
  output.attempts = 3;
  const { id, ...letter } = letterOf(output);
  expect(id.startsWith("018bcfe5-6800-7")).toBe(true);
  expect(letter).toEqual({
    ...{ workspaceId: "w", sourceId: "source", destinationId: "d", messageId: "m" },
    ...{ stage: "deliver", reason: "No", attempts: 3, text: '{"a":1}', user: "u" },
    ...{ type: "track", receivedAt: 5, createdAt: NOW },
  });
});

test("a dead letter of code names its revision, and has the received event if code has changed it", () => {
  const program = { transformationVersionId: "v1", programId: "program" };
  const changed = letterOf(outputOf('{"a":2}', live, "Order"));
  expect(changed).toMatchObject({ ...program, name: "Order", original: '{"a":1}' });
  const same = letterOf(outputOf('{"a":1}', live));
  expect(same).toMatchObject(program);
  expect(same).not.toHaveProperty("original");
});

test("a dead letter has the place in the code, and the answer of the receiver with its status and code", () => {
  expect(letterOf(outputOf("{}"), { line: 3, column: 7 } as never)).toMatchObject({
    ...{ line: 3, column: 7 },
  });
  const response = { status: 422, code: "7", body: "No" };
  expect(letterOf(outputOf("{}"), { response } as never)).toMatchObject({
    ...{ status: 422, code: "7", response },
  });
  const unanswered = letterOf(outputOf("{}"), { response: { body: "No" } } as never);
  expect(unanswered.response).toEqual({ body: "No" });
  expect(unanswered).not.toHaveProperty("status");
});

test("a dead letter has the failed attempts, each with its reason if that is another one", () => {
  const output = outputOf("{}");
  output.failedAttempts = [
    { at: 1, durationMs: 2, reason: "x".repeat(201), status: 500 },
    { at: 3, durationMs: 4, reason: "No" },
    { at: 5, durationMs: 6 },
  ];
  expect(letterOf(output).failedAttempts).toEqual([
    { at: 1, durationMs: 2, reason: "x".repeat(200), status: 500 },
    { at: 3, durationMs: 4 },
    { at: 5, durationMs: 6 },
  ]);
});

test("a requeued dead letter is the event as it was received, with a retry window of its own", () => {
  const letter = {
    ...{ id: "l", messageId: "m", sourceId: "s", receivedAt: 5, type: "track", user: "u" },
    ...{ name: "Order", text: '{"a":2}', original: '{"userId":"u","anonymousId":"a"}' },
  } as StoredLetter;
  const event = createRequeuedEvent({ letter, replayedAt: 9, jobId: "job" });
  expect(event).toMatchObject({
    input: {
      ...{ messageId: "m", sourceId: "s", receivedAt: 5, type: "track" },
      event: { user: "u", name: "Order", userId: "u", anonymousId: "a" },
    },
    origin: { requeued: letter, jobId: "job" },
    ...{ retryWindowStart: 9, bytes: letter.original!.length + EVENT_OVERHEAD_BYTES },
  });
  expect(String(event.input.event.json)).toBe(letter.original!);
  const { original: _, ...unchanged } = letter;
  const other = createRequeuedEvent({ letter: unchanged, replayedAt: 9 });
  expect(String(other.input.event.json)).toBe(letter.text);
});
