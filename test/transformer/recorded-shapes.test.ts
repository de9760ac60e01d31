import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { testSandbox } from "../sandbox/support.ts";
import { freshTransformer } from "./_setup.ts";

/**
 * Requests in the forms that rudder-server sends, with every field that it sends, and the answers
 * that it takes: a list in its own names, under the version 2 of the protocol.
 */
const sandbox = testSandbox();
afterAll(() => sandbox.close());

let house: Awaited<ReturnType<typeof freshTransformer>>;
beforeEach(async () => {
  house = await freshTransformer({ sandbox });
});

/** All metadata of an event, empty ones included, which rudder-server's structure has as zeros. */
const metadata = (messageId: string, more: object = {}) => ({
  sourceId: "source-1",
  sourceName: "source-name-1",
  originalSourceId: "",
  workspaceId: house.workspaceId,
  namespace: "main",
  instanceId: "1",
  sourceType: "Javascript",
  sourceCategory: "",
  trackingPlanId: "",
  trackingPlanVersion: 0,
  sourceTpConfig: null,
  mergedTpConfig: null,
  destinationId: "destination-1",
  jobId: 9_007_199_254_740_993n,
  sourceJobId: "",
  sourceJobRunId: "",
  sourceTaskRunId: "",
  recordId: null,
  destinationType: "WEBHOOK",
  messageId,
  messageIds: null,
  rudderId: "<<>>anonymous<<>>user",
  oauthAccessToken: "",
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  receivedAt: "2020-02-02T00:23:09.544Z",
  eventName: "Clicked <b>",
  eventType: "track",
  sourceDefinitionId: "Javascript",
  destinationDefinitionId: "WEBHOOK",
  transformationId: "t",
  transformationVersionId: "v",
  ...more,
});

/** Go writes integers of 64 bits, and `<` and `>` as escapes. */
function goJson(value: unknown): string {
  const text = JSON.stringify(value, (_, it) => (typeof it === "bigint" ? `#${it}#` : it));
  return text
    .replace(/"#(\d+)#"/g, "$1")
    .replaceAll("<", "\\u003c")
    .replaceAll(">", "\\u003e");
}

const items = (versionId: string, messages: { messageId: string }[], more: object = {}) =>
  goJson(
    messages.map((message) => ({
      message,
      metadata: metadata(message.messageId),
      destination: { Transformations: [{ VersionID: versionId }] },
      libraries: [],
      credentials: [{ id: "credential-1", key: "key-1", value: "value-1", isSecret: false }],
      ...more,
    })),
  );

const track = (messageId: string, more: object = {}) => ({
  type: "track",
  event: "Test",
  properties: { n: 1 },
  ...more,
  messageId,
});

async function answers(code: string, messages: { messageId: string }[], more: object = {}) {
  const { versionId } = await house.publish("transformation", code);
  return await house.send(items(versionId, messages, more));
}

describe("an answer to rudder-server", () => {
  test("has the metadata byte for byte, numbers beyond 2^53 and escapes included", async () => {
    const { status, headers, text } = await answers(
      "export const transformEvent = (event) => ({ ...event, seen: true });",
      [track("m1")],
    );
    expect([status, headers.get("apiversion")]).toEqual([200, "2"]);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    const output = JSON.stringify({ ...track("m1"), seen: true });
    const expected = `"metadata":${goJson(metadata("m1"))},"statusCode":200}]`;
    expect(text).toBe(`[{"output":${output},${expected}`);
  });

  test("names each dropped event with 298, and its metadata once more as rudder-server reads them", async () => {
    const { body } = await answers(
      "export const transformEvent = (event) => (event.type === 'test' ? null : event);",
      [track("m1", { type: "test" }), track("m2")],
    );
    expect(body.map((it: any) => [it.statusCode, it.metadata.messageId])).toEqual([
      [298, "m1"],
      [200, "m2"],
    ]);
    expect(body[0]).not.toHaveProperty("output");
    expect(body[0]).not.toHaveProperty("error");
  });

  test("has null as the messageIds of a dropped event, also where the request had some", async () => {
    // Written twice, the last counts, for rudder-server as for JSON.parse.
    const more = { metadata: metadata("m1", { messageIds: ["m0", "m1"] }) };
    const { body } = await answers(
      "export const transformEvent = () => null;",
      [track("m1")],
      more,
    );
    expect(body[0].metadata).toEqual(JSON.parse(goJson(metadata("m1", { messageIds: null }))));
  });

  test("finds the metadata of a batch's outputs by their messageId", async () => {
    const { body } = await answers(
      "export const transformBatch = (events) => events.slice(1).reverse();",
      [track("m1"), track("m2"), track("m3")],
    );
    const shown = body.map((it: any) => [
      it.statusCode,
      it.output?.messageId,
      it.metadata.messageId,
    ]);
    expect(shown.toSorted((one: any, other: any) => (one[2] < other[2] ? -1 : 1))).toEqual([
      [298, undefined, "m1"],
      [200, "m2", "m2"],
      [200, "m3", "m3"],
    ]);
  });

  test("has the error of a batch for each of its events", async () => {
    const { body } = await answers(
      `export function transformBatch(events) {
        if (events[0].fails) throw new Error("Intentional");
        return events;
      }`,
      [track("m1", { fails: true }), track("m2", { fails: true })],
    );
    expect(body.map((it: any) => [it.statusCode, it.metadata.messageId])).toEqual([
      [400, "m1"],
      [400, "m2"],
    ]);
    expect(body[0].error).toContain("Intentional");
  });

  test("has the words of RudderStack's engine for outputs that are no objects", async () => {
    // Events that are not marked are those with which code is tested at publishing.
    const errorOf = async (code: string) =>
      (await answers(code, [track("m1", { fails: true })])).body[0].error;
    expect(await errorOf("export const transformEvent = (it) => (it.fails ? 7 : it);")).toBe(
      "returned event from transformEvent(event) is not an object",
    );
    expect(await errorOf("export const transformEvent = (it) => (it.fails ? [7] : it);")).toBe(
      "returned event in events array from transformEvent(event) is not an object",
    );
    expect(await errorOf("export const transformBatch = (all) => (all[0].fails ? 7 : all);")).toBe(
      "returned events from transformBatch(event) is not an array",
    );
    expect(
      await errorOf("export const transformBatch = (all) => (all[0].fails ? [7] : all);"),
    ).toBe("returned event in events array from transformBatch(events) is not an object");
  });

  test("takes the code's default import of a library, and async functions", async () => {
    const library = `const _ = { size: (object) => Object.keys(object ?? {}).length };
      export default _;`;
    const { versionId } = await house.publish("library", library, { name: "lodash" });
    const { body } = await answers(
      `import _ from 'lodash';
       export async function transformEvent(event) {
         await Promise.resolve();
         return { ...event, size: _.size(event.properties), key: getCredential("key-1") };
       }`,
      [track("m1")],
      { libraries: [{ VersionID: versionId }] },
    );
    expect(body[0].output).toEqual({ ...track("m1"), size: 1, key: "value-1" });
  });

  test("names dropped events also for a client that writes the feature as true", async () => {
    const { versionId } = await house.publish(
      "transformation",
      "export const transformEvent = () => null;",
    );
    const send = async (value: string) =>
      (await house.send(items(versionId, [track("m1")]), { "x-feature-filter-code": value })).body;
    expect((await send("true")).map((it: any) => it.statusCode)).toEqual([298]);
    for (const off of ["false", "?0", "1"]) expect(await send(off)).toEqual([]);
  });
});

test("a request over a connection of its own is answered whole, as rudder-server's client sends it", async () => {
  const { versionId } = await house.publish(
    "transformation",
    "export const transformEvent = (event) => event;",
  );
  const messages = Array.from({ length: 200 }, (_, n) => track(`m${n}`, { note: "é".repeat(500) }));
  const body = items(versionId, messages);
  const { hostname, port } = new URL(house.transformer.url);
  const head = [
    "POST /customTransform HTTP/1.1",
    `Host: ${hostname}:${port}`,
    "User-Agent: Go-http-client/1.1",
    "Connection: close",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Content-Type: application/json; charset=utf-8",
    "X-Feature-Filter-Code: ?1",
    "X-Feature-Gzip-Support: ?1",
    "Accept-Encoding: gzip",
  ];
  const socket = connect(Number(port), hostname);
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  const [answerHead, answer] = Buffer.concat(chunks).toString("utf8").split("\r\n\r\n", 2);
  expect(answerHead).toStartWith("HTTP/1.1 200 ");
  expect(answerHead).toMatch(/^apiversion: 2$/im);
  expect(JSON.parse(answer!).map((it: any) => it.output)).toEqual(messages);
});

test("the reason to send a request again is a label, as rudder-server's metrics need", async () => {
  const own = await freshTransformer({ sandbox, secret: "secret-of-sixteen-chars" });
  const { status, headers } = await own.send("[]");
  expect(status).toBe(503);
  expect(headers.get("x-rudder-should-retry")).toBe("true");
  expect(headers.get("x-rudder-error-reason")).toMatch(/^[a-z_]{1,64}$/);
});
