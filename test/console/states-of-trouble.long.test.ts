import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { startApi, type TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { openPage, signIn } from "./_browser.ts";

let api: TestApi;
let browser: Browser;
/** Revision whose every batch fails. */
let suspended: string | undefined;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await ensureConsole();
  api = await startApi({
    suspensions: () =>
      suspended === undefined
        ? []
        : [{ transformationVersionId: suspended, name: "T", until: 0, reason: "Error: no seats" }],
  });
  browser = await sharedBrowser();
}, 300_000);
afterAll(() => api?.stop());

const made = async (path: string, body: object) => (await api.send("POST", path, { body })).body;

async function open(place: string) {
  const opened = await openPage(browser);
  await signIn(opened.page, api.url, api.token);
  await opened.page.goto(`${api.url}/#/${place}`);
  return opened;
}

const code = "export const transformEvent = (event) => event;";

describeWith(chromiumMissing)("the console", () => {
  test("says that live code is suspended, and why, on its page and in the list", async () => {
    const draft = { name: "Prices", language: "javascript", code };
    const { id, versionId } = await made("/transformations?publish=true", draft);
    suspended = versionId;
    const { page, close } = await open("transformations");
    const row = page.getByRole("row").filter({ hasText: "Prices" });
    await row.getByText("Suspended", { exact: true }).waitFor();
    expect(await row.getByText("Live", { exact: true }).count()).toBe(0);
    await page.goto(`${api.url}/#/transformations/${id}`);
    await page.getByRole("alert").filter({ hasText: "Error: no seats" }).waitFor();
    expect(await page.getByText("Live", { exact: true }).count()).toBe(0);
    suspended = undefined;
    await close();
  }, 300_000);

  test("says that code was not published because its test failed, with the result in view", async () => {
    const draft = { name: "Failing", language: "javascript", code };
    const { id } = await made("/transformations", draft);
    const { page, close } = await open(`transformations/${id}`);
    await page.getByRole("textbox", { name: /^Code of/ }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("export const transformEvent = (e) => e.missing.field;");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Not published: the test failed").waitFor();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("TypeError").first().waitFor();
    const { y } = (await result.boundingBox())!;
    expect(y).toBeLessThan(page.viewportSize()!.height);
    expect(await page.getByRole("dialog").count()).toBe(0);
    await close();
  }, 300_000);
});
