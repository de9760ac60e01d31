import { afterAll, expect, test } from "bun:test";
import { s3Kind } from "../../../src/destinations/s3/s3.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { AttemptMasking } from "../../../src/pipeline/delivering/attempt-masking.ts";
import { outgoing } from "../outgoing.ts";

const store = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const sent = request.headers.get("authorization");
    const code = "<Error><Code>SignatureDoesNotMatch</Code>";
    return new Response(`${code}<Message>${sent}</Message></Error>`, { status: 403 });
  },
});
const egress = createEgress({ allow: ["127.0.0.0/8"] });
afterAll(async () => {
  egress.close();
  await store.stop(true);
});

test("an answer of a store keeps its words, without access key id, signature and secret", async () => {
  const config = {
    ...{ endpoint: store.url.href, bucket: "lake", region: "eu-central-1" },
    ...{ accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfi" },
  };
  const kind = s3Kind(egress);
  const result = await kind
    .open(config, "workspace")
    .deliver([outgoing({ n: 1 })], new AbortController().signal, "a");
  const masking = new AttemptMasking(kind, config);
  const shown = masking.shown(result, [], 0, 1);
  expect(shown).toMatchObject({
    reason: "The secret access key does not fit the access key (403 SignatureDoesNotMatch)",
  });
  const text = JSON.stringify(shown);
  expect(text).toMatch(/Credential=\*\*\*.*SignedHeaders=host;.*Signature=\*\*\*</);
  expect(text).not.toContain("AKIA");
});
