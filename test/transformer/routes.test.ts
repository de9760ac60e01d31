import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { Registry } from "prom-client";
import { transformerPaths } from "../../src/api/document/transformer.ts";
import { testWith } from "../counterpart.ts";
import { testSandbox } from "../sandbox/support.ts";
import { longTierMissing } from "../tier.ts";
import { freshTransformer } from "./_setup.ts";

const sandbox = testSandbox();
afterAll(() => sandbox.close());

let house: Awaited<ReturnType<typeof freshTransformer>>;
beforeEach(async () => {
  house = await freshTransformer({ sandbox });
});

async function post(path: string, body: unknown, headers = {}) {
  const response = await fetch(house.transformer.url + path, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as any };
}

async function get(path: string, headers = {}) {
  const response = await fetch(house.transformer.url + path, { headers });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : text };
}

const code = `import { shout as louder } from "loudLib";
export function transformEvent(event, metadata) {
  if (event.fail) throw new TypeError("bad");
  log(event.name);
  return { name: louder(event.name), from: metadata(event).sourceId, key: getCredential("key") };
}`;
const events = [
  { message: { messageId: "m1", name: "ann" }, metadata: { sourceId: "s1" } },
  { message: { messageId: "m2", fail: true }, metadata: {} },
];
const credentials = [{ key: "key", value: "secret", isSecret: true }];
const error = "TypeError: bad\n    at transformEvent (base transformation:3:25)";
const output = { name: "ANN", from: "s1", key: "secret" };

describe("tests of code that is not stored", () => {
  const loud = () =>
    house.publish("library", "export const shout = (it) => it.toUpperCase();", {
      name: "Loud lib",
    });

  test("/transformation/test answers outputs, errors and lines of log", async () => {
    const { versionId } = await loud();
    const trRevCode = { code, codeVersion: "1", language: "javascript" };
    const body = { events, trRevCode, libraryVersionIDs: [versionId], credentials };
    const answer = await post("/transformation/test", body);
    expect(answer).toEqual({
      status: 200,
      body: { transformedEvents: [output, { error }], logs: ["Log: ann"] },
    });
  });

  test("/transformation/testRun answers each output and error with the metadata of its event", async () => {
    const { versionId } = await loud();
    const dependencies = { libraries: [{ versionId }], credentials };
    const codeRevision = { code, language: "javascript" };
    const answer = await post("/transformation/testRun", {
      input: events,
      codeRevision,
      dependencies,
    });
    expect(answer.body).toEqual({
      transformedEvents: [
        { transformedEvent: output, metadata: { sourceId: "s1" } },
        { error, metadata: {} },
      ],
      logs: ["Log: ann"],
    });
  });

  test("a request without code or events, and code that does not load, are answered 400", async () => {
    const trRevCode = { code, codeVersion: "1", language: "javascript" };
    const errorOf = async (body: unknown) => {
      const answer = await post("/transformation/test", body);
      expect(answer.status).toBe(400);
      return answer.body.error;
    };
    expect(await errorOf({ events })).toBe(
      "Error: Invalid Request. Missing parameters in transformation code block",
    );
    expect(await errorOf({ trRevCode })).toBe("Error: Invalid request. Missing events");
    expect(await errorOf({ events, trRevCode })).toBe(
      "Error: import from loudLib failed. Module not found.",
    );
    expect(await errorOf({ events, trRevCode: { ...trRevCode, codeVersion: "0" } })).toContain("1");
    expect(await errorOf("no object")).toBe("Expected a body that is a JSON object");
  });

  test("/transformationLibrary/test answers true, or why a library does not load", async () => {
    const check = (source: string) =>
      post("/transformationLibrary/test", { code: source, language: "javascript" });
    expect(await check("export function a() { return 1 }")).toEqual({ status: 200, body: true });
    expect(await check("throw new Error('boom')")).toEqual({
      status: 400,
      body: { error: "boom" },
    });
    expect((await check("")).body.error).toBe("Invalid request. Missing code");
  });

  test("/extractLibs names the modules of code, and what it takes from them", async () => {
    const source = `import a, { b as c, d } from "one";
      import * as all from 'two'; import "three"; // import { x } from "four"
      import /* it's */ e, { // f, g
        h /*, i */ } from "six";
      export function transformEvent(event) { return "import { y } from 'five'" && event }`;
    const answer = await post("/extractLibs", { code: source, language: "javascript" });
    const six = ["e", "h"];
    expect(answer.body).toEqual({ one: ["a", "b", "d"], two: [], three: [], six });
  });

  // A guest with an interpreter costs seconds of CPU.
  testWith(longTierMissing)("Python is tested alike", async () => {
    const python = `def transformEvent(event, metadata):
    # Events with a type are those with which code is tested at publishing.
    return event if "type" in event else {"is": event["name"]}`;
    const codeRevision = { code: python, language: "pythonfaas" };
    const run = await post("/transformation/testRun", { input: [events[0]], codeRevision });
    expect(run.body.transformedEvents).toEqual([
      { transformedEvent: { is: "ann" }, metadata: { sourceId: "s1" } },
    ]);
    const library = { code: "import json\nimport urllib.parse", language: "pythonfaas" };
    const imports = { json: [], "urllib.parse": [] };
    expect((await post("/transformationLibrary/test", library)).body).toEqual(imports);
    expect((await post("/extractLibs", library)).body).toEqual(imports);
    const { versionId } = await house.publish("transformation", python, { language: "python" });
    const items = [house.item(versionId, { messageId: "m1", name: "ann" })];
    expect((await house.send([...items, house.item(versionId, {})])).body).toMatchObject([
      { output: { is: "ann" }, statusCode: 200 },
      { error: expect.stringContaining("KeyError"), statusCode: 400 },
    ]);
  });
});

describe("code for rudder-transformer", () => {
  test("published transformations and libraries are found by their version", async () => {
    const transformation = await house.publish(
      "transformation",
      "export function transformEvent() {}",
    );
    const library = await house.publish("library", "export const a = 1;", { name: "My lib" });
    const found = await get(`/transformation/getByVersionId?versionId=${transformation.versionId}`);
    expect(found.body).toMatchObject({
      id: transformation.id,
      versionId: transformation.versionId,
      workspaceId: house.workspaceId,
      name: "My T",
      code: "export function transformEvent() {}",
      codeVersion: "1",
      language: "javascript",
      imports: [],
    });
    const ofLibrary = `/transformationLibrary/getByVersionId?versionId=${library.versionId}`;
    expect((await get(ofLibrary)).body).toMatchObject({
      name: "My lib",
      code: "export const a = 1;",
    });
  });

  test("a library with RudderStack's name is found, and imported by published code", async () => {
    const path = "/rudderstackTransformationLibraries/hash?version=";
    const { body } = await get(`${path}v1`);
    expect(body).toMatchObject({ name: "hash", importName: "@rs/hash/v1" });
    expect((await get(`${path}v2`)).status).toBe(404);
    expect((await get(path.replace("hash", "encrypt"))).status).toBe(404);
    const source = `import { md5 } from "@rs/hash/v1";
      export const transformEvent = ({ text }) => ({ md5: md5(text) });`;
    const { versionId } = await house.publish("transformation", source);
    const answer = await house.send([house.item(versionId, { messageId: "m", text: "abc" })]);
    expect(answer.body[0].output).toEqual({ md5: "900150983cd24fb0d6963f7d28e17f72" });
  });

  test("a draft, and a version of the other kind, are answered 404", async () => {
    const more = { publish: false };
    const draft = await house.publish(
      "transformation",
      "export function transformEvent() {}",
      more,
    );
    const library = await house.publish("library", "export const a = 1;", { name: "My lib" });
    for (const versionId of [draft.versionId, library.versionId, "", "x"]) {
      const path = `/transformation/getByVersionId?versionId=${versionId}`;
      expect((await get(path)).status).toBe(404);
    }
  });
});

test("the OpenAPI document has paths that the listener answers", async () => {
  for (const [path, { post: isPosted }] of Object.entries(transformerPaths())) {
    const method = isPosted ? "POST" : "GET";
    const response = await fetch(`${house.transformer.url}${path}`, { method });
    expect([path, await response.text()]).not.toEqual([path, "There is nothing at this path"]);
  }
});

test("the features say that the listener transforms for no destination type", async () => {
  expect((await get("/features")).body).toEqual({
    routerTransform: {},
    regulations: [],
    supportSourceTransformV1: false,
    supportTransformerProxyV1: false,
    upgradedToSourceTransformV2: false,
    supportDestTransformCompactedPayloadV1: false,
  });
});

describe("who may call the listener", () => {
  test("pages in a browser are refused, servers are answered", async () => {
    expect((await get("/health")).body).toMatchObject({ service: "UP" });
    expect((await get("/features")).body.routerTransform).toEqual({});
    const own = new URL(house.transformer.url).port;
    const pages = [
      { origin: "https://example.com" },
      { "sec-fetch-site": "cross-site" },
      { host: `example.com:${own}` },
    ];
    for (const headers of pages) expect((await get("/health", headers)).status).toBe(403);
  });

  test("without the secret every other request is answered 401", async () => {
    house = await freshTransformer({ sandbox, secret: "secret-of-sixteen" });
    const path = "/transformation/getByVersionId?versionId=x";
    expect((await get(path)).status).toBe(401);
    const authorization = `Basic ${btoa("secret-of-sixteen:")}`;
    expect((await get(path, { authorization })).status).toBe(404);
  });
});

test("requests that are refused for their form or size are counted as others are", async () => {
  const metrics = new Registry();
  const { transformer } = await freshTransformer({ sandbox, metrics });
  const { port, hostname } = new URL(transformer.url);
  const statusOf = async (head: string) => {
    const socket = connect(Number(port), hostname);
    socket.end(`${head}\r\n\r\n`);
    return (await text(socket)).slice(9, 12);
  };
  const large = "POST /customTransform HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999";
  expect(await statusOf(large)).toBe("413");
  expect(await statusOf("no request")).toBe("400");
  const { values } = await metrics.getSingleMetric("pixelmill_transformer_requests_total")!.get();
  expect(values.map(({ labels, value }) => [labels.kind, labels.status, value])).toEqual([
    ["transform", 413, 1],
    ["other", 400, 1],
  ]);
});
