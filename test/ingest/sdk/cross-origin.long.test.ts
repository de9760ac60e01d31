import { expect } from "bun:test";
import type { Source } from "../../../src/catalog/model.ts";
import { SDK_BODY_BYTES_MAX } from "../../../src/settings/limits.ts";
import { chromiumMissing, launch } from "../../api/_chromium.ts";
import { testWith } from "../../counterpart.ts";
import { sourceOf, WRITE_KEY } from "../harness.ts";
import { basic, openSdkListener, track } from "./_sdk.ts";

const NOT_ALLOWING = "allows another origin";

testWith(chromiumMissing)(
  "a page of another origin reads each answer to a request with cookies, and Retry-After",
  async () => {
    const sources: Source[] = [
      sourceOf(WRITE_KEY, true),
      { ...sourceOf(NOT_ALLOWING, true), settings: { allowedOrigins: ["https://example.com"] } },
    ];
    const server = openSdkListener({
      source: (writeKey) => sources.find((source) => source.writeKey === writeKey),
      eventsPerSecondMax: 1,
    });
    const html = { headers: { "Content-Type": "text/html" } };
    const site = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response("<p>Shop</p>", html),
    });
    const browser = await launch();
    const page = await browser.newPage();
    await page.goto(`http://localhost:${site.port}/`);

    const batch = JSON.stringify({ batch: Array.from({ length: 60 }, () => track("1")) });
    const post = (body: string | number, writeKey = WRITE_KEY) =>
      page.evaluate(
        async ([url, sent, authorization]) => {
          const body = typeof sent === "number" ? "x".repeat(sent) : sent;
          const options = { method: "POST", credentials: "include" as const, body };
          const answer = await fetch(url, { ...options, headers: { authorization } });
          await answer.json();
          return [answer.status, answer.headers.get("retry-after") !== null];
        },
        [`${server.url}/v1/batch`, body, basic(writeKey)] as const,
      );
    expect(await post(SDK_BODY_BYTES_MAX + 1)).toEqual([413, false]);
    expect(await post("no JSON")).toEqual([400, false]);
    expect(await post(batch, "unknown")).toEqual([401, false]);
    expect(await post(batch, NOT_ALLOWING)).toEqual([403, false]);
    expect(await post(batch)).toEqual([200, false]);
    expect(await post(batch)).toEqual([429, true]);

    await browser.close();
    await server.stop();
    await site.stop(true);
  },
  300_000,
);
