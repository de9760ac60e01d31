import { describe, expect, test } from "bun:test";
import { signatureHeaders, signingKey } from "../../src/destinations/signature.ts";

describe("Standard Webhooks", () => {
  // The example of the specification: its id is given there, ours comes from the body.
  test("signs id, timestamp and body", () => {
    const key = signingKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")!;
    const body = Buffer.from('{"test": 2432232314}');
    const headers = signatureHeaders(key, body, 1_614_265_330_999);
    expect(headers["webhook-timestamp"]).toBe("1614265330");
    const hmac = new Bun.CryptoHasher("sha256", key);
    hmac.update(`${headers["webhook-id"]}.1614265330.{"test": 2432232314}`);
    expect(headers["webhook-signature"]).toBe(`v1,${hmac.digest("base64")}`);
  });

  test("the same events have the same id on every attempt, others another", () => {
    const key = Buffer.from("key");
    const idOf = (text: string, now: number) =>
      signatureHeaders(key, Buffer.from(text), now)["webhook-id"];
    expect(idOf("a", 1)).toBe(idOf("a", 99_999)!);
    expect(idOf("a", 1)).not.toBe(idOf("b", 1)!);
  });

  const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString("base64");
  test.each([
    { secret: `whsec_${base64(24)}`, bytes: 24 },
    { secret: `whsec_${base64(64)}`, bytes: 64 },
    { secret: `whsec_${base64(25).replace(/=/g, "")}`, bytes: 25 },
    { secret: "any other text", bytes: 14 },
    { secret: `whsec_${base64(23)}`, bytes: undefined },
    { secret: `whsec_${base64(65)}`, bytes: undefined },
    { secret: "whsec_not base64 at all, not base64!", bytes: undefined },
  ])("$secret", ({ secret, bytes }) => {
    expect(signingKey(secret)?.length).toBe(bytes!);
  });
});
