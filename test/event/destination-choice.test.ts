import { expect, test } from "bun:test";
import { isChosen } from "../../src/event/destination-choice.ts";
import { eventOf } from "../../src/event/event.ts";
import type { JsonRecord } from "../../src/event/record.ts";
import { recordOf } from "./agreement.ts";

const destination = { id: "27", name: "My Hook", type: "webhook" };

function choiceOf(json: object) {
  const text = JSON.stringify({ messageId: "m", userId: "u", ...json });
  const record: JsonRecord = {
    ...{ format: "json", type: "track", receivedAt: 5, sourceId: "source", clientAddress: "" },
    ...{ messageId: undefined, sentAt: undefined, json: Buffer.from(text) },
  };
  return eventOf(record).choice;
}
function gets(json: object, consentIds?: string[]): boolean {
  const choice = choiceOf(json);
  return choice === undefined || isChosen(choice, { ...destination, consentIds });
}

test.each([
  [{}, true],
  [{ All: true }, true],
  [{ All: false }, false],
  [{ All: false, "my hook": true }, true],
  [{ All: false, WEBHOOK: true }, true],
  [{ All: false, "27": { option: 1 } }, true],
  [{ All: false, webhook: null }, false],
  [{ All: true, webhook: false }, false],
  [{ webhook: false }, false],
  [{ webhook: false, "My Hook": true }, true],
  [{ webhook: true, "My Hook": false }, false],
  [{ s3: false, "Segment.io": false }, true],
  ["none", true],
])("integrations %j choose a destination by name, kind and All: %p", (integrations, isSent) => {
  expect(gets({ integrations })).toBe(isSent);
});

test("a destination gets no event whose user denied a consent that it needs", () => {
  const context = { consentManagement: { deniedConsentIds: ["ads", "c2"] } };
  expect(gets({ context }, ["ads"])).toBe(false);
  expect(gets({ context }, ["needed", "c2"])).toBe(false);
  expect(gets({ context }, ["needed"])).toBe(true);
  expect(gets({ context })).toBe(true);
  expect(gets({ context, integrations: { All: false, webhook: true } }, ["ads"])).toBe(false);
  expect(gets({ context: { consentManagement: null } }, ["ads"])).toBe(true);
});

test("a key that occurs twice in the choice of destinations has its last value", () => {
  const record: JsonRecord = {
    ...{ format: "json", type: "track", receivedAt: 5, sourceId: "source", clientAddress: "" },
    ...{ messageId: undefined, sentAt: undefined },
    json: Buffer.from(
      '{"messageId":"m","integrations":{"All":true,"All":false},"context":{"consentManagement":1,' +
        '"consentManagement":{"deniedConsentIds":["a"]}}}',
    ),
  };
  expect(eventOf(record).choice).toEqual({ integrations: { All: false }, deniedConsentIds: ["a"] });
});

test("an event that excludes nothing has no choice", () => {
  expect(choiceOf({ integrations: { All: true } })).toBeUndefined();
  expect(choiceOf({ context: { consentManagement: { deniedConsentIds: [] } } })).toBeUndefined();
});

test("a pixel has the consents that its parameters deny", () => {
  const denied = "context.consentManagement.deniedConsentIds.0=ads";
  expect(eventOf(recordOf(`userId=u&${denied}`)).choice?.deniedConsentIds).toEqual(["ads"]);
  expect(eventOf(recordOf("userId=u")).choice).toBeUndefined();
});
