import { afterAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { startReceiver } from "../alerts/_scene.ts";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon, until } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

const receiver = startReceiver();
let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});
afterAll(() => receiver.stop());

/**
 * Watches for an element for `selector`. Resolves once the page watches, with a function that
 * resolves with whether the element had the focus when it was shown, before the browser painted it.
 */
async function watchFocus(page: Page, selector: string): Promise<() => Promise<boolean>> {
  // An input event may overtake a script that is sent to the page before it.
  await page.evaluate(`{
    const { promise, resolve } = Promise.withResolvers();
    globalThis.hadFocus = promise;
    const observer = new MutationObserver(() => {
      const found = document.querySelector(${JSON.stringify(selector)});
      if (found === null) return;
      observer.disconnect();
      resolve(found === document.activeElement);
    });
    observer.observe(document, { attributes: true, childList: true, subtree: true });
  }`);
  return () => page.evaluate("hadFocus");
}

describeWith(chromiumMissing)("alerts", () => {
  test("the empty list leads to the form of the first receiver, without which no alert is sent", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/alerts");
    await page.getByRole("link", { name: "Set up a receiver" }).click();
    await page.getByRole("button", { name: "New receiver" }).waitFor();
    await page.goto(`${api.url}/#/alerts/rules`);
    await page.getByText("No receiver yet").waitFor();
    // Who may set up none is not led there.
    const other = await openPage(browser);
    await signIn(other.page, api.url, await api.tokenWith(["events:read"]), "#/alerts");
    await other.page.getByText("No alerts").waitFor();
    await soon(async () =>
      expect(await other.page.getByRole("link", { name: "Set up a receiver" }).count()).toBe(0),
    );
    await other.close();
    await close();
  });

  test("a receiver is added and tested, and an alert is shown from its beginning to its end", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/alerts/receivers");
    await page.getByRole("button", { name: "New receiver" }).click();
    await page.getByLabel("Name").fill("On call");
    await page.getByLabel("Type").selectOption("Webhook");
    await page.getByLabel("URL").fill(receiver.url);
    await page.getByRole("button", { name: "Add receiver" }).click();
    await page.getByRole("button", { name: "Send test" }).click();
    await page.getByText("On call accepted the test notification").waitFor();
    expect(receiver.got.map(({ body }) => body.type)).toEqual(["alert.test"]);
    const receiverRow = page.getByRole("row").filter({ hasText: "On call" });
    await receiverRow.getByText("None yet").waitFor({ state: "detached" });
    // The URL is a secret.
    expect(await page.content()).not.toContain(receiver.url);

    receiver.answer(() => new Response("", { status: 404 }));
    await page.getByRole("button", { name: "Send test" }).click();
    await page.getByText("On call did not accept the test: HTTP 404 from receiver").waitFor();
    await receiverRow.getByText("HTTP 404 from receiver").waitFor();
    await receiverRow.getByText(/^for \d+ (s|min)$/).waitFor();

    // The first receiver has created rules. The disk of the test is half full.
    await page.goto(`${api.url}/#/alerts/rules`);
    await page.getByRole("button", { name: "Disk nearly full", exact: true }).click();
    await page.getByLabel("Threshold (percent free)").fill("60");
    await page.getByLabel("Begins after (seconds)").fill("0");
    await page.getByLabel("Ends after (seconds)").fill("0");
    await page.getByRole("button", { name: "Save rule" }).click();
    await page.getByRole("row").filter({ hasText: "60 percent free" }).waitFor();
    await api.evaluateAlerts();
    const list = async () => (await api.client.call("GET /v2/alerts")).alerts;
    await until(async () => (await list())[0]?.notifications[0]?.reason);

    await page.goto(`${api.url}/#/alerts`);
    const row = page.getByRole("row").filter({ hasText: "The disk of the server has 50.0 GB" });
    await row.getByText("Open", { exact: true }).waitFor();
    // The row says that no receiver was notified, and why.
    await row.getByText("0 of 1").waitFor();
    await row.getByText("HTTP 404 from receiver").waitFor();
    receiver.answer(() => new Response());
    await page.goto(`${api.url}/#/`);
    await page.getByRole("link", { name: "The disk of the server has 50.0 GB" }).waitFor();

    await page.goto(`${api.url}/#/alerts/rules`);
    await page.getByRole("button", { name: "Disk nearly full", exact: true }).click();
    await page.getByLabel("Threshold (percent free)").fill("10");
    await page.getByRole("button", { name: "Save rule" }).click();
    await page.getByRole("row").filter({ hasText: "10 percent free" }).waitFor();
    await api.evaluateAlerts();
    await page.goto(`${api.url}/#/alerts`);
    await row.getByText("Ended", { exact: true }).waitFor();
    await close();
  });

  test("the form of a rule offers the kinds that the workspace may have", async () => {
    const other = await api.catalog.workspaces.create("Other");
    const token = await api.tokenWith(["workspace:admin", "events:read"], other.id);
    for (const [secret, offersServer] of [
      [api.token, true],
      [token, false],
    ] as const) {
      const { page, close } = await openPage(browser);
      await signIn(page, api.url, secret, "#/alerts/rules");
      await page.getByRole("button", { name: "New rule" }).click();
      const condition = page.getByRole("dialog", { name: "New rule" }).getByLabel("Condition");
      await condition.getByRole("option", { name: "Source silent" }).waitFor({ state: "attached" });
      const disk = condition.getByRole("option", { name: "Disk nearly full" });
      await soon(async () => expect(await disk.count()).toBe(offersServer ? 1 : 0));
      await close();
    }
  });

  test("a wrong value of a rule or a receiver is explained once, at its field", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/alerts/rules");
    const form = page.getByRole("dialog");
    const messages = form.locator(".wrong, [role=alert]");

    await page.getByRole("button", { name: "New rule" }).click();
    await form.getByLabel("Quiet hours from (optional)").fill("22:60");
    await form.getByLabel("Quiet hours until (optional)").fill("07:00");
    await form.getByRole("button", { name: "Add rule" }).click();
    await soon(async () =>
      expect(await messages.allInnerTexts()).toEqual([
        "Expected a time of day such as 22:00, got a string of 5 characters",
        "Check the marked fields",
      ]),
    );

    await page.goto(`${api.url}/#/alerts/receivers`);
    await page.getByRole("button", { name: "New receiver" }).click();
    await form.getByLabel("Name").fill("Mail");
    await form.getByLabel("Type").selectOption("email");
    await form.getByLabel("Email addresses").fill("ops@example.com, ops");
    await form.getByRole("button", { name: "Add receiver" }).click();
    await soon(async () =>
      expect(await messages.allInnerTexts()).toEqual([
        "Expected an email address, got a string of 3 characters",
        "Check the marked fields",
      ]),
    );
    await close();
  });

  test("a cleared number of a rule is the default again, and changes of another are kept", async () => {
    const { rule } = await api.client.call("POST /v2/alerts/rules", {
      body: { kind: "lag", name: "Late", threshold: 7, forSeconds: 5 },
    });
    const params = { id: rule.id };
    const put = (body: object) => api.client.call("PUT /v2/alerts/rules/{id}", { params, body });
    const stored = async () =>
      (await api.client.call("GET /v2/alerts/rules/{id}", { params })).rule;
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/alerts/rules");
    await page.getByRole("button", { name: "Late", exact: true }).click();
    const form = page.getByRole("dialog", { name: "Late" });
    await form.getByLabel("Threshold (seconds)").fill("");
    await form.getByLabel("Ends after (seconds)").fill("3");
    await put({ name: "Slow", forSeconds: 6, clearSeconds: 2 });
    await form.getByRole("button", { name: "Save rule" }).click();
    await form.getByRole("radio", { name: "Theirs: 2" }).check();
    expect(await stored()).toMatchObject({ name: "Slow", threshold: 7, clearSeconds: 2 });
    await form.getByRole("button", { name: "Save rule" }).click();
    await form.waitFor({ state: "detached" });
    expect(await stored()).toMatchObject({
      ...{ name: "Slow", threshold: 900, forSeconds: 6, clearSeconds: 2 },
    });
    await api.client.call("DELETE /v2/alerts/rules/{id}", { params });
    await close();
  });

  test("a change of a receiver by another is kept, and a conflict shows no secret", async () => {
    const created = await api.client.call("POST /v2/alerts/receivers", {
      body: { name: "Night", type: "webhook", url: receiver.url },
    });
    const params = { id: created.receiver.id };
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/alerts/receivers");
    await page.getByRole("button", { name: "Night", exact: true }).click();
    const form = page.getByRole("dialog", { name: "Night" });
    await form.getByLabel("Authorization header").fill("Bearer s3cret");
    const body = { name: "Day" };
    await api.client.call("PUT /v2/alerts/receivers/{id}", { params, body });
    await form.getByRole("button", { name: "Save receiver" }).click();
    await form.getByRole("radio", { name: "Yours: (secret, not shown)" }).waitFor();
    await form.getByRole("button", { name: "Save receiver" }).click();
    await form.waitFor({ state: "detached" });
    const { receiver: now } = await api.client.call("GET /v2/alerts/receivers/{id}", { params });
    expect(now).toMatchObject({ name: "Day", secretsSet: ["/url", "/authorization"] });
    await api.client.call("DELETE /v2/alerts/receivers/{id}", { params });
    await close();
  });

  test("a form, a wrong field and a conflict have the focus as soon as they are shown, before a person types", async () => {
    const created = await api.client.call("POST /v2/alerts/receivers", {
      body: { name: "Dusk", type: "webhook", url: receiver.url },
    });
    const params = { id: created.receiver.id };
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/alerts/receivers");
    const expectFocus = async (selector: string, show: () => Promise<void>) => {
      const hadFocus = await watchFocus(page, selector);
      await show();
      expect(await hadFocus()).toBe(true);
    };
    const form = page.getByRole("dialog");
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();

    // The page listens to keys before it loads the list.
    await page.getByRole("button", { name: "Dusk", exact: true }).waitFor();
    await expectFocus("dialog.palette input", () => page.keyboard.press("Control+k"));
    await page.keyboard.press("Escape");
    await expectFocus("dialog form input", () => press("New receiver"));
    await form.getByLabel("Name").fill("Mail");
    await form.getByLabel("Type").selectOption("email");
    await form.getByLabel("Email addresses").fill("ops");
    await expectFocus("[aria-invalid=true]", () => press("Add receiver"));
    await press("Cancel");
    await form.waitFor({ state: "detached" });

    await expectFocus("dialog form input", () => press("Dusk"));
    await form.getByLabel("Authorization header").fill("Bearer s3cret");
    await api.client.call("PUT /v2/alerts/receivers/{id}", { params, body: { name: "Dawn" } });
    await expectFocus(".conflicts", () => press("Save receiver"));
    await api.client.call("DELETE /v2/alerts/receivers/{id}", { params });
    await close();
  });

  test("a rule is restricted to items and receivers, which the list names", async () => {
    const { receiver: second } = await api.client.call("POST /v2/alerts/receivers", {
      body: { name: "Second line", type: "webhook", url: receiver.url },
    });
    const transformations: string[] = [];
    // More than one page of names, so that the field searches them on the server.
    for (let n = 10; n < 61; n++) {
      const body = { name: `Code ${n}`, code: "export function transformEvent(e) {}" };
      const created = await api.client.call("POST /transformations", {
        body: { ...body, language: "javascript" },
      });
      transformations.push(created.id);
    }
    const source = await api.catalog.sources.create(api.workspaceId, { name: "Shop" });
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/alerts/rules");
    await page.getByRole("button", { name: "New rule" }).click();
    const dialog = page.getByRole("dialog", { name: "New rule" });
    const part = (name: string) => dialog.getByRole("group", { name, exact: true });
    await part("Destinations").getByText("All destinations").waitFor();
    await dialog.getByLabel("Condition").selectOption("Source silent");
    await part("Sources").getByLabel("Add source").selectOption("Shop");
    await part("Sources").getByRole("button", { name: "Remove Shop" }).waitFor();
    // Items of another kind are none of the rule's.
    await dialog.getByLabel("Condition").selectOption("Transformation suspended");
    await part("Transformations").getByText("All transformations").waitFor();
    // A list of a few names is a select, until all names are known to be too many for one.
    const search = part("Transformations").locator("input[role=combobox]");
    for (const name of ["Code 60", "Code 12"]) {
      await search.fill(name);
      await part("Transformations").getByRole("option", { name }).click();
      await part("Transformations")
        .getByRole("button", { name: `Remove ${name}` })
        .waitFor();
    }
    await part("Receivers").getByText("All receivers").waitFor();
    await part("Receivers").getByLabel("Add receiver").selectOption("Second line");
    await dialog.getByLabel("Name").fill("Core code");
    await dialog.getByRole("button", { name: "Add rule" }).click();
    const row = page.getByRole("row").filter({ hasText: "Core code" });
    await row.getByText("Code 60, Code 12").waitFor();
    await row.getByText("Second line").waitFor();
    const { rules } = await api.client.call("GET /v2/alerts/rules");
    const stored = () => rules.find(({ name }) => name === "Core code");
    expect(stored()).toMatchObject({
      subjectIds: [transformations[50], transformations[2]],
      receiverIds: [second.id],
    });
    // The names of what was chosen before are known, though the search does not begin with them.
    await page.reload();
    await page.getByRole("button", { name: "Core code", exact: true }).click();
    const form = page.getByRole("dialog", { name: "Core code" });
    await form.getByRole("button", { name: "Remove Code 60" }).click();
    await form.getByRole("button", { name: "Remove Second line" }).click();
    await form.getByText("All receivers").waitFor();
    await form.getByRole("button", { name: "Save rule" }).click();
    await row.getByText("Code 12", { exact: true }).waitFor();
    await row.getByText("All receivers").waitFor();
    await api.client.call("DELETE /v2/sources/{id}", { params: { id: source.id } });
    await close();
  });
});
