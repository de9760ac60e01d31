import { describe, expect, test } from "bun:test";
import type { Source } from "../../src/catalog/model.ts";
import { createSourceConfig, type SdkAnswer } from "../../src/ingest/sdk/source-config.ts";

/** Answers to SDKs that ask for their configuration, and the decoders of the SDKs. */

const shop: Source = {
  id: "source-1",
  workspaceId: "workspace-1",
  name: 'Shop "1"',
  type: "http",
  writeKey: "key-1",
  enabled: true,
  config: { secret: 1 },
  createdAt: 1_700_000_000_000,
  updatedAt: 1_700_000_000_000,
};
const disabled = { ...shop, writeKey: "key-2", enabled: false };
const source = (writeKey: string) => [shop, disabled].find((it) => it.writeKey === writeKey);
const config = createSourceConfig({ source });

interface SourceConfigBody {
  source: Record<string, unknown> & {
    config: { statsCollection: Record<"errors" | "metrics", { enabled: unknown }> };
  };
}

const isText = (value: unknown) => typeof value === "string" && value !== "";
const isOff = (value: unknown) => value === false;

/** Each SDK, and whether its decoder takes a body and starts to send. */
const decoders: Record<string, (body: SourceConfigBody) => boolean> = {
  "RudderStack JS 3 needs an id, a config and a list": ({ source }) =>
    isText(source.id) &&
    typeof source.config === "object" &&
    Array.isArray(source.destinations) &&
    source.enabled !== false,
  "RudderStack JS 3 posts no errors to /rsaMetrics": ({ source }) =>
    isOff(source.config.statsCollection.errors.enabled),
  "RudderStack JS 1.1 needs a list, and no other address": ({ source }) =>
    Array.isArray(source.destinations) && !("dataplanes" in source),
  "the old Android and iOS SDKs need enabled: true": ({ source }) => source.enabled === true,
  "the Kotlin SDK needs all of these": ({ source }) =>
    ["id", "name", "writeKey", "workspaceId", "updatedAt"].every((name) => isText(source[name])) &&
    typeof source.enabled === "boolean" &&
    Number.isFinite(Date.parse(String(source.updatedAt))),
  "the Swift SDK also needs statsCollection and an array": ({ source }) =>
    Array.isArray(source.destinations) &&
    (["errors", "metrics"] as const).every(
      (name) => typeof source.config.statsCollection[name].enabled === "boolean",
    ),
};

const parsed = ({ body }: SdkAnswer) => JSON.parse(body);

describe("/sourceConfig", () => {
  test.each(Object.entries(decoders))("%s", (_, decodes) => {
    const answer = config.rudderStack("key-1");
    expect(answer.status).toBe(200);
    expect(decodes(parsed(answer))).toBe(true);
  });

  test("names the source and lists no destination", () => {
    expect(parsed(config.rudderStack("key-1")).source).toEqual({
      id: "source-1",
      name: 'Shop "1"',
      writeKey: "key-1",
      workspaceId: "workspace-1",
      enabled: true,
      updatedAt: "2023-11-14T22:13:20.000Z",
      config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
      destinations: [],
    });
  });

  test("an unknown write key is 400 with the text at which mobile SDKs stop", () => {
    const { status, body } = config.rudderStack("none");
    expect(status).toBe(400);
    expect(body.toLowerCase()).toContain("invalid write key");
  });

  test.each([undefined, ""])("a request with the write key %p is 401", (key) => {
    expect(config.rudderStack(key).status).toBe(401);
  });

  test("a disabled source is 404, so that no SDK reads enabled: false and deletes events", () => {
    expect(config.rudderStack("key-2")).toEqual({
      status: 404,
      body: '{"message":"Source is disabled","code":404}',
    });
  });
});

describe("/v1/projects/{writeKey}/settings", () => {
  const segment = (publicUrl?: string, key = "key-1") =>
    createSourceConfig({ source, publicUrl }).segment(key);

  test("has Segment.io with the write key, and turns the figures of the SDK off", () => {
    expect(parsed(segment())).toEqual({
      integrations: { "Segment.io": { apiKey: "key-1" } },
      plan: {},
      metrics: { sampleRate: 0 },
    });
  });

  test.each([
    ["https://data.example.com", "data.example.com/v1", "https"],
    ["http://localhost:8080/", "localhost:8080/v1", "http"],
    ["https://example.com/events/", "example.com/events/v1", "https"],
  ])("sends the SDK to the public URL %s", (publicUrl, apiHost, protocol) => {
    expect(parsed(segment(publicUrl)).integrations["Segment.io"]).toEqual({
      apiKey: "key-1",
      apiHost,
      protocol,
    });
  });

  test("an unknown key and a disabled source are 404, so that the SDK does not start", () => {
    expect(segment(undefined, "none").status).toBe(404);
    expect(segment(undefined, "key-2").status).toBe(404);
  });
});
