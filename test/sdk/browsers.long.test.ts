import { expect } from "bun:test";
import { waitFor } from "../e2e/server.ts";
import type { BrowserClient } from "./browser.ts";
import { arrived } from "./scene.ts";
import { browserSdks, type Sdk } from "./sdks.ts";
import { numbers, open, type Run, testSdks, track } from "./suite.ts";

async function openPage(sdk: Sdk, name: string, isBeacon = false): Promise<Run<BrowserClient>> {
  const run = (await open(sdk, name, { isBeacon })) as Run<BrowserClient>;
  await run.client.loaded();
  return run;
}

testSdks(browserSdks, {
  async "delivers the events of a page that the user leaves"(sdk) {
    const { client, source, gate } = await openPage(sdk, "leave", true);
    for (const number of [1, 2]) await client.call(track("user-1", number));
    expect(gate.seen).toEqual([]);
    await client.page.goto("about:blank");
    expect(numbers(await arrived(source, 2))).toEqual([1, 2]);
  },

  async "delivers the events of a time without network"(sdk) {
    const { client, source, gate } = await openPage(sdk, "offline");
    await client.page.context().setOffline(true);
    await client.call(track("user-1", 1));
    await client.page.context().setOffline(false);
    expect(numbers(await arrived(source, 1))).toEqual([1]);
    await waitFor(() => gate.seen.length > 0, "the answer");
    expect(gate.seen.map(({ status }) => status)).toEqual([200]);
  },

  async "needs no other service than the server"(sdk) {
    const { client, source } = await openPage(sdk, "alone");
    await client.call(track("user-1", 1));
    await arrived(source, 1);
    expect(client.foreign).toEqual([]);
  },
});
