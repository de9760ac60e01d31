import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

describeWith(chromiumMissing)("test cases in the editor", () => {
  let api: TestApi;
  let browser: Browser;
  useConsole((opened) => {
    ({ api, browser } = opened);
  });

  const transformation = async (name: string, code: string) =>
    (await api.send("POST", "/transformations", { body: { name, code, language: "javascript" } }))
      .body.id as string;
  const cases = async (id: string) =>
    (await api.send("GET", `/v2/transformations/${id}/test-cases`)).body.testCases;
  const open = async (place: string, width = 1280) => {
    const opened = await openPage(browser, { viewport: { width, height: 860 } });
    await signIn(opened.page, api.url, api.token, `#/${place}`);
    return opened;
  };

  test("a test case is added, fails with its differences, refuses the publish, and passes", async () => {
    const same = "export const transformEvent = (event) => event;";
    const id = await transformation("Cased", same);
    const { page, close } = await open(`transformations/${id}`);
    await page.getByRole("button", { name: "Test cases", exact: true }).click();
    await page.getByRole("button", { name: "Add test case" }).click();
    await page.getByLabel("Name").fill("Adds a flag");
    const dialog = page.getByRole("dialog");
    // The two editors of a row begin at the same height, although one has a button above it.
    const tops = await dialog
      .locator(".cm-editor")
      .evaluateAll((all) => all.map((it) => it.getBoundingClientRect().top));
    expect(tops).toEqual([tops[0]!, tops[0]!]);
    await write(page, "Input events as JSON", '{"n":1}');
    await dialog.getByRole("button", { name: "Use current output" }).click();
    const expected = page.getByRole("textbox", { name: "Expected output as JSON" });
    await expected.filter({ hasText: '"n": 1' }).waitFor();
    await write(page, "Expected output as JSON", '[{"n":1,"flag":true}]');
    await dialog.getByRole("button", { name: "Save test case" }).click();
    await page.getByRole("button", { name: "Test cases (1)" }).waitFor();
    expect(await cases(id)).toMatchObject([
      { name: "Adds a flag", input: [{ n: 1 }], expectedOutput: [{ n: 1, flag: true }] },
    ]);

    await page.getByRole("button", { name: "Publish" }).click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("0 of 1 test case passed").waitFor();
    await result.getByText('"flag": true').waitFor();
    await result.getByText("− Expected output").waitFor();
    await soon(async () => expect(await page.getByRole("dialog").count()).toBe(0));

    await write(page, /^Code of/, "export const transformEvent = (e) => ({ ...e, flag: true });");
    await page.getByRole("button", { name: "Publish" }).click();
    await dialog.getByText("1 of 1 test case passed").waitFor();
    await dialog.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    await close();
  });

  test("an event of the tail becomes a test case of a transformation", async () => {
    const id = await transformation("From the tail", "");
    const { page, close } = await open("events");
    const source = (await api.send("POST", "/v2/sources", { body: { name: "S" } })).body.source;
    const event = { type: "track", event: "Signed up", messageId: "m1", userId: "u" };
    const send = () =>
      api.tell(api.workspaceId, {
        ...{ stage: "received", sourceId: source.id, at: Date.now(), messageId: "m1", event },
      } as never);
    const row = page.getByRole("button", { name: "Signed up" });
    while ((await row.count()) === 0) {
      send();
      await Bun.sleep(100);
    }
    await row.first().click();
    await page.getByRole("button", { name: "Make a test case" }).click();
    await page.getByLabel("Transformation").selectOption({ label: "From the tail" });
    await page.getByRole("button", { name: "Open in editor" }).click();
    await page.getByLabel("Name").fill("Sign-up");
    await page.getByRole("button", { name: "Save test case" }).click();
    await page.getByRole("button", { name: "Test cases (1)" }).waitFor();
    expect(await cases(id)).toMatchObject([{ name: "Sign-up", input: [event] }]);
    expect(page.url()).not.toContain("testCase");
    await close();
  });

  test("a picked event stays picked and in its row while many others arrive", async () => {
    const id = await transformation("Picked", "");
    const { source } = (await api.send("POST", "/v2/sources", { body: { name: "Busy" } })).body;
    const { page, close } = await open(`transformations/${id}`);
    await page.getByRole("button", { name: "Use real events" }).click();
    await page.getByText("Waiting for the next event").waitFor();
    while (api.followers() === 0) await Bun.sleep(10);
    let sent = 0;
    const send = (count: number) => {
      for (const until = sent + count; sent < until; sent++) {
        const event = { type: "track", event: `Event ${sent}` };
        const messageId = `m${sent}`;
        const message = { sourceId: source.id, at: Date.now(), messageId, event };
        api.tell(api.workspaceId, { stage: "received", ...message });
      }
    };
    const dialog = page.getByRole("dialog");
    const rows = dialog.locator("ol button");
    send(60);
    await dialog.getByText("Event 59", { exact: false }).waitFor();
    const target = rows.nth(2);
    await target.hover();
    const name = await target.locator(".cut").first().textContent();
    send(60);
    await target.click();
    await soon(async () => expect(await target.locator(".cut").first().textContent()).toBe(name));
    await soon(async () => expect(await target.getAttribute("aria-pressed")).toBe("true"));
    send(60);
    await dialog.getByRole("heading").hover();
    await dialog.getByRole("heading").click();
    await page.getByRole("button", { name: "Use as test events" }).click();
    await dialog.waitFor({ state: "detached" });
    const text = page.getByRole("textbox", { name: "Test events as JSON" });
    await text.filter({ hasText: `"event": "${name!.replace(/^\d+ /, "")}"` }).waitFor();
    await close();
  });

  test("the result is as high as the editor beside it, and in a view of its own on a narrow screen", async () => {
    const code = "export function transformEvent(event) { return event; }\n".padEnd(3_000, "\n");
    const id = await transformation("Long", code);
    const events = Array.from({ length: 60 }, (_, n) => ({ type: "track", event: `E${n}` }));
    for (const width of [1280, 390]) {
      const { page, close } = await open(`transformations/${id}`, width);
      if (width === 390) await page.getByRole("button", { name: "Tests", exact: true }).click();
      await write(page, "Test events as JSON", JSON.stringify(events));
      await page.keyboard.press("Control+Enter");
      await page.getByRole("button", { name: "1 E0 Passed", exact: true }).waitFor();
      // The part that had the focus is hidden.
      const result = page.getByRole("region", { name: "Result" });
      await result.and(page.locator(":focus")).waitFor();
      const { y, height } = (await result.boundingBox())!;
      expect(height).toBeGreaterThan(480);
      if (width === 1280) expect(y + height).toBeLessThanOrEqual(860);
      const run = (await page.getByRole("button", { name: "Run", exact: true }).boundingBox())!;
      expect([width, run.y >= 0 && run.y < 860]).toEqual([width, true]);
      const editor = page.getByRole("textbox", { name: /^Code of/ });
      await soon(async () =>
        expect([width, await editor.isVisible()]).toEqual([width, width === 1280]),
      );
      await page.getByRole("button", { name: "Tests", exact: true }).click();
      await page.getByRole("textbox", { name: "Test events as JSON" }).waitFor();
      await close();
    }
  });
});

/** Replaces the text of an editor. */
async function write(page: Page, name: string | RegExp, text: string): Promise<void> {
  await page.getByRole("textbox", { name }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}
