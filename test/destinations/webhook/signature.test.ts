import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import {
  requestId,
  signatureHeaders,
  signingKey,
} from "../../../src/destinations/webhook/signature.ts";
import { outgoing } from "../outgoing.ts";

describe("Standard Webhooks", () => {
  const key = signingKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")!;
  const body = Buffer.from('{"test": 2432232314}');

  test("signs as its example does", () => {
    expect(signatureHeaders(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", body, 1_614_265_330_000)).toEqual({
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    });
  });

  test("signs the id and the timestamp that it sends", () => {
    const headers = signatureHeaders(key, "msg_1", body, 1_614_265_330_999);
    const timestamp = headers["webhook-timestamp"]!;
    expect(timestamp).toBe("1614265330");
    const hmac = createHmac("sha256", key).update(`msg_1.${timestamp}.`).update(body);
    expect(headers["webhook-signature"]).toBe(`v1,${hmac.digest("base64")}`);
  });

  test("the same events have the same id in every attempt, and other events another", () => {
    const of = (...events: [messageId: string, text: string][]) =>
      requestId(
        events.map(([messageId, text]) => outgoing(Buffer.from(text), { messageId }, true)),
        Buffer.from(events.map(([, text]) => text).join()),
      );
    expect(of(["m", "a"])).toMatch(/^msg_m_[0-9a-z]+$/);
    expect(of(["m", "a"])).toBe(of(["m", "a"]));
    expect(requestId([outgoing({}, { messageId: "m" })], Buffer.from("{}"))).toBe("msg_m");
    const all = [of(["m", "a"]), of(["m", "b"]), of(["n", "a"]), of(["m", "a"], ["m", "a"])];
    expect(new Set([...all, of(["m", "a"], ["n", "b"])]).size).toBe(5);
  });

  test("a messageId that an SDK chose makes an id that may stand in a header", () => {
    const ids = ["a\r\nhost: evil", "ü", "a.1", "x".repeat(256), "", "\ud800", "\udbff"].map(
      (messageId) => requestId([outgoing({}, { messageId })], Buffer.from("{}")),
    );
    for (const id of ids) expect(id).toMatch(/^msg_[0-9a-f]{64}$/);
    expect(new Set(ids).size).toBe(ids.length);
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
