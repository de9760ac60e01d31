import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

const line = (text: string) => `  event.${text};`;
const codeOf = (...lines: string[]) =>
  ["export function transformEvent(event) {", ...lines, "  return event;", "}", ""].join("\n");

describeWith(chromiumMissing)("two people who change one item", () => {
  let api: TestApi;
  let browser: Browser;
  useConsole((opened) => {
    ({ api, browser } = opened);
  });

  const open = async (place: string) => {
    const opened = await openPage(browser);
    await signIn(opened.page, api.url, api.token, `#/${place}`);
    return opened;
  };
  const send = async (method: string, path: string, body: unknown) =>
    (await api.send(method, path, { body })).body;
  const made = (code: string, name: string) =>
    send("POST", "/transformations?publish=true", { name, language: "javascript", code });
  const stored = async (id: string) => (await api.send("GET", `/transformations/${id}`)).body.code;

  test("publish code only after a merge with the revision of the other", async () => {
    const common = ["a = 1", "b = 1", "c = 1", "d = 1", "e = 1"].map(line);
    const { id } = await made(codeOf(...common), "Merged");
    const { page, close } = await open(`transformations/${id}`);
    await write(page, codeOf(line("a = 'yours'"), ...common.slice(1)));
    const theirs = codeOf(...common.slice(0, 4), line("e = 'theirs'"));
    await send("POST", `/transformations/${id}?publish=true`, { code: theirs });

    await publish(page);
    const dialog = page.getByRole("dialog", { name: "Merge changes" });
    await dialog.getByText("No place was changed by both.").waitFor();
    expect(await stored(id)).toBe(theirs);
    await dialog.getByRole("button", { name: "Use the result" }).click();
    await publish(page);
    await page.getByText("Published: live from the next batch").waitFor();
    expect(await stored(id)).toBe(
      codeOf(line("a = 'yours'"), ...common.slice(1, 4), line("e = 'theirs'")),
    );
    await close();
  });

  test("merge unsaved code that was kept while another revision was saved", async () => {
    const { id } = await made(codeOf(line("a = 1")), "Kept");
    const { page, close } = await open(`transformations/${id}`);
    await write(page, codeOf(line("a = 'yours'")));
    await page.getByText("Unsaved").waitFor();
    await send("POST", `/transformations/${id}`, { code: codeOf(line("a = 'theirs'")) });
    await page.reload();
    await page.getByText("based on an older revision").waitFor();
    await page.getByRole("button", { name: "Save draft" }).click();
    const dialog = page.getByRole("dialog", { name: "Merge changes" });
    await dialog.getByText("1 place was changed by both.").waitFor();
    await dialog.getByRole("button", { name: "Take all of theirs" }).click();
    await page.getByText("based on an older revision").waitFor({ state: "detached" });
    await page.getByText("Unsaved").waitFor({ state: "detached" });
    await close();
  });

  test("both keep different settings, and choose between values of one setting", async () => {
    const { destination } = await send("POST", "/v2/destinations", {
      name: "Hook",
      type: "webhook",
      config: { webhookUrl: "http://127.0.0.1:9/" },
    });
    const path = `/v2/destinations/${destination.id}`;
    const config = async () => (await api.send("GET", path)).body.destination.config;
    const put = (change: object) =>
      send("PUT", path, { config: { ...destination.config, ...change } });
    const { page, close } = await open(`destinations/${destination.id}?tab=settings`);
    const batchSize = page.getByRole("spinbutton", { name: /^Max events per request|^Batch size/ });
    await page.getByText("Advanced", { exact: true }).click();
    await batchSize.fill("7");
    await put({ timeoutMs: 4000 });
    // The form still has the typed value after another tab.
    await page.getByRole("link", { name: "Health" }).click();
    await page.getByRole("main").getByRole("link", { name: "Settings" }).click();
    await soon(async () => expect(await batchSize.inputValue()).toBe("7"));
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.getByText("Saved together with changes by others").waitFor();
    expect(await config()).toMatchObject({ batchSize: 7, timeoutMs: 4000 });

    await batchSize.fill("8");
    await put({ batchSize: 9, timeoutMs: 4000 });
    await page.getByRole("button", { name: "Save settings" }).click();
    const conflict = page.getByRole("alert").filter({ hasText: "Changed by others meanwhile" });
    await conflict.getByRole("radio", { name: "Yours: 8" }).waitFor();
    expect(await config()).toMatchObject({ batchSize: 9 });
    await conflict.getByRole("radio", { name: "Theirs: 9" }).check();
    await page.getByRole("button", { name: "Save settings" }).click();
    await conflict.waitFor({ state: "detached" });
    expect(await config()).toMatchObject({ batchSize: 9, timeoutMs: 4000 });
    await close();
  });

  test("a destination that the other has deleted is no longer shown as one", async () => {
    const { destination } = await send("POST", "/v2/destinations", {
      name: "Gone",
      type: "webhook",
      config: { webhookUrl: "http://127.0.0.1:9/" },
    });
    const { page, close } = await open(`destinations/${destination.id}`);
    const actions = page.getByLabel("More actions");
    await actions.waitFor();
    await page.getByRole("switch").waitFor();
    await api.send("DELETE", `/v2/destinations/${destination.id}`);
    await page.getByRole("alert").filter({ hasText: "not found" }).first().waitFor();
    await actions.waitFor({ state: "detached" });
    await soon(async () => expect(await page.getByRole("switch").count()).toBe(0));
    await close();
  });

  test("code that the other has deleted is shown as deleted, and a publish restores it", async () => {
    const { id } = await made(codeOf(line("a = 1")), "Deleted by other");
    await api.send("DELETE", `/transformations/${id}`);
    const { page, close } = await open(`transformations/${id}?tab=history`);
    await page.getByText("Publish one of its revisions to restore it").waitFor();
    await page.getByText("Deleted", { exact: true }).waitFor();
    await soon(async () => {
      await soon(async () =>
        expect(await page.getByText("Draft", { exact: true }).count()).toBe(0),
      );
      await soon(async () => expect(await page.getByLabel("More actions").count()).toBe(0));
    });
    await page.getByRole("button", { name: "Publish" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
    await page.getByText("Publish one of its revisions").waitFor({ state: "detached" });
    await page.getByLabel("More actions").waitFor();
    await close();
  });

  test("a rollback leaves the live code in the editor, and asks before the newer one goes live", async () => {
    const good = codeOf(line("a = 'good'"));
    const { id } = await made(good, "Reverted");
    await send("POST", `/transformations/${id}?publish=true`, { code: codeOf(line("a = 'bad'")) });
    const { page, close } = await open(`transformations/${id}?tab=history`);
    await page.getByRole("button", { name: "Roll back" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("None", { exact: true }).waitFor();
    await dialog.locator(".cm-changedLine").first().waitFor();
    // A refusal that comes after the dialog was closed is shown, too.
    const held = Promise.withResolvers<void>();
    await page.route("**/publish*", async (route) => {
      await held.promise;
      await route.fulfill({ status: 503, json: { message: "Busy" } });
    });
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    held.resolve();
    await page.getByText("Busy").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("button", { name: "Roll back" }).click();
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.getByText("Rolled back", { exact: true }).first().waitFor();
    expect(await stored(id)).toBe(good);
    await page.getByRole("button", { name: "Publish" }).first().click();
    await dialog.getByText("before it was rolled back").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Code", exact: true }).click();
    await page.locator(".cm-content").first().filter({ hasText: "good" }).waitFor();
    const publishButton = page.getByRole("button", {
      name: "Publish",
      description: "This code is live",
    });
    await publishButton.waitFor();
    await soon(async () => expect(await publishButton.getAttribute("aria-disabled")).toBe("true"));
    await close();
  });

  test("a draft that was never published opens without a refused request", async () => {
    const draft = { name: "Draft", language: "javascript", code: codeOf() };
    const { id } = await send("POST", "/transformations", draft);
    const { page, consoleErrors, close } = await open("transformations");
    const lists: string[] = [];
    page.on("request", (request) => lists.push(request.url()));
    await page.reload();
    await page.getByRole("link", { name: "Draft", exact: true }).click();
    await page.getByRole("heading", { name: "Draft" }).waitFor();
    await page.locator(".cm-content").first().waitFor();
    expect(consoleErrors.filter((it) => it.includes("404"))).toEqual([]);
    // Lists carry no code, except that of libraries for completion.
    const listed = lists.filter((url) => /\/(transformations|v2\/code)(\?|$)/.test(url));
    expect(listed.length).toBeGreaterThan(0);
    expect(listed.filter((url) => !/\/v2\/code|code=false/.test(url))).toEqual([]);
    expect(id).toBeString();
    await close();
  });
});

async function write(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").first().click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}

async function publish(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Publish" }).click();
  const dialog = page.getByRole("dialog", { name: "Publish?" });
  const merge = page.getByRole("dialog", { name: "Merge changes" });
  await dialog.or(merge).first().waitFor();
  if (await dialog.isVisible()) await dialog.getByRole("button", { name: "Publish" }).click();
}
