import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApi, type TestApi } from "../api/_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const refusal = async (type: string, config: object) =>
  (await api.send("POST", "/v2/destinations", { body: { name: "D", type, config } })).body;

test("a fault of any key of any kind says in words what was expected and what came", async () => {
  const { body } = await api.send("GET", "/v2/destination-types");
  expect(body.destinationTypes.length).toBeGreaterThan(5);
  for (const { type, deliveredBy, config } of body.destinationTypes) {
    if (deliveredBy !== "pixelmill") continue;
    for (const key of Object.keys(config.properties)) {
      const { details } = await refusal(type, { [key]: { wrong: 1 } });
      const fault = details?.find(({ path }: { path: string }) =>
        path.startsWith(`/config/${key}`),
      );
      if (fault === undefined) continue;
      expect(fault.message).toMatch(
        /^(Expected [^^]+, got an object|Unknown key "wrong", expected one of )/,
      );
      expect(fault.message).not.toContain("undefined");
    }
  }
});

test.each([
  [
    "webhook",
    {},
    "Expected an absolute http or https URL of at most 2048 characters at /config/webhookUrl, got nothing",
  ],
  [
    "webhook",
    { webhookUrl: "example.com/events" },
    "Expected a URL with http:// or https://, and with a valid host and port at /config/webhookUrl",
  ],
  [
    "webhook",
    { webhookUrl: "https://example.com:99999/" },
    "Expected a URL with http:// or https://, and with a valid host and port at /config/webhookUrl",
  ],
  [
    "webhook",
    { webhookUrl: "https://example.com", batchSize: "10" },
    "Expected an integer from 1 to 1000 at /config/batchSize, got a string of 2 characters",
  ],
  [
    "file",
    { path: "/var/log/events.jsonl" },
    "Expected a relative path of at most 1024 characters without . or .. as a name at /config/path, got an absolute path",
  ],
  [
    "s3",
    { bucket: "s3://lake", accessKeyId: "a", secretAccessKey: "b" },
    "Expected the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens, a letter or a digit at both ends at /config/bucket, got a string of 9 characters",
  ],
  [
    "kafka",
    { brokers: "kafka:9092", topic: "sign ups" },
    "Expected 1 to 249 letters, digits, `.`, `_`, `-` and places `{{event}}` at /config/topic, got a string of 8 characters",
  ],
])("a %s of %j is refused with a sentence", async (type, config, message) => {
  expect((await refusal(type, config)).message).toBe(message);
});

test.each([
  "http://127.0.0.1:9000",
  "https://10.1.2.3",
  "http://0x7f.1",
  "http://2130706433",
  "http://[::1]:9000",
])("a bucket's name in the host is refused when the store has the address %s", async (endpoint) => {
  const config = { endpoint, bucket: "own", accessKeyId: "id", secretAccessKey: "key" };
  const refused = await refusal("s3", { ...config, pathStyle: false });
  expect(refused.details).toEqual([
    { path: "/config/pathStyle", message: expect.stringContaining("Expected true") },
  ]);
  for (const fine of [
    { ...config },
    { ...config, endpoint: "http://store.test", pathStyle: false },
  ])
    expect((await refusal("s3", fine)).destination.type).toBe("s3");
});
