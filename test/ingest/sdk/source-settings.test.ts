import { afterAll, describe, expect, test } from "bun:test";
import type { Source } from "../../../src/catalog/model.ts";
import { PIXEL_TARGET_BYTES_MAX } from "../../../src/settings/limits.ts";
import { sourceOf } from "../harness.ts";
import { basic, openSdkListener, track } from "./_sdk.ts";

/** Requests of SDKs, and pixels, to sources with settings. */

const sources: Source[] = [
  { ...sourceOf("origins", true), settings: { allowedOrigins: ["https://*.shop.example"] } },
  { ...sourceOf("truncate", true), settings: { ip: "truncate" } },
  { ...sourceOf("drop", true), settings: { ip: "drop" } },
  { ...sourceOf("bots", true), settings: { bots: "mark" } },
  sourceOf("plain", true),
];
const server = openSdkListener({
  source: (writeKey) => sources.find((source) => source.writeKey === writeKey),
});
afterAll(() => server.stop());

const send = {
  sdk: (writeKey: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/v1/batch`, {
      method: "POST",
      headers: { authorization: basic(writeKey), ...headers },
      body: JSON.stringify({ batch: [track("1")] }),
    }),
  pixel: (writeKey: string, headers: Record<string, string> = {}, more = "") =>
    fetch(`${server.url}/pixel/v1/page?writeKey=${writeKey}&anonymousId=a${more}`, {
      method: "POST",
      headers,
    }),
};

describe.each(["sdk", "pixel"] as const)("a request (%s)", (kind) => {
  test.each([
    ["https://www.shop.example", 200],
    ["https://evil.example", 403],
    ["null", 403],
  ] as const)(
    "of a page with the origin %s is answered with %d by a source that allows others",
    async (origin, status) => {
      const answer = await send[kind]("origins", { origin });
      expect(answer.status).toBe(status);
      if (status === 403) {
        expect(await answer.json()).toEqual({
          message: "Expected an origin that the source allows",
          code: 403,
        });
        expect(answer.headers.get("access-control-allow-origin")).not.toBe(null);
      }
      expect(server.records.splice(0)).toHaveLength(status === 200 ? 1 : 0);
    },
  );

  test("without an origin is accepted by a source that allows some", async () => {
    expect((await send[kind]("origins")).status).toBe(200);
    expect(server.records.splice(0)).toHaveLength(1);
  });

  test("has the part of its address recorded that the source's settings choose", async () => {
    for (const writeKey of ["plain", "truncate", "drop"]) await send[kind](writeKey);
    const addresses = server.records.splice(0).map(({ clientAddress }) => clientAddress);
    expect(addresses).toEqual(["127.0.0.1", "127.0.0.0", ""]);
  });
});

describe("a pixel of a source that marks bots", () => {
  const queries = () =>
    server.records.splice(0).map((record) => (record as never as { query: string }).query);

  test("is recorded with its user agent", async () => {
    await send.pixel("bots", { "user-agent": "Googlebot/2.1 (a&b=c)" });
    await send.pixel("bots", { "user-agent": "" });
    await send.pixel("plain", { "user-agent": "Googlebot/2.1" });
    const [marked, ...others] = queries();
    expect(new URLSearchParams(marked).get("context.userAgent")).toBe("Googlebot/2.1 (a&b=c)");
    expect([...new URLSearchParams(marked).keys()]).toEqual([
      "writeKey",
      "anonymousId",
      "context.userAgent",
    ]);
    for (const query of others) expect(query).not.toContain("userAgent");
  });

  test("is recorded with the beginning of a long one", async () => {
    await send.pixel("bots", { "user-agent": "b".repeat(1_025) });
    const [query] = queries();
    expect(new URLSearchParams(query).get("context.userAgent")).toBe("b".repeat(1_024));
  });

  test("is recorded with it when both together are as long as a pixel may be", async () => {
    const end = "&context.userAgent=Googlebot";
    const most = PIXEL_TARGET_BYTES_MAX - "writeKey=bots&anonymousId=a&name=".length - end.length;
    for (const bytes of [most, most + 1]) {
      const name = `&name=${"n".repeat(bytes)}`;
      expect((await send.pixel("bots", { "user-agent": "Googlebot" }, name)).status).toBe(200);
    }
    expect(queries().map((query) => query.endsWith(end))).toEqual([true, false]);
  });

  test("is recorded without it when both together are too long", async () => {
    const start = `/pixel/v1/page?writeKey=bots&anonymousId=a&name=`;
    const name = "n".repeat(PIXEL_TARGET_BYTES_MAX - start.length);
    const answer = await send.pixel("bots", { "user-agent": "Googlebot" }, `&name=${name}`);
    expect(answer.status).toBe(200);
    expect(queries()).toEqual([`writeKey=bots&anonymousId=a&name=${name}`]);
  });
});
