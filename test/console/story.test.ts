import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import { ADMIN_TOKEN, removeDirectory, type Server, startServer } from "../e2e/server.ts";
import { soon } from "../until.ts";
import { buildConsole, openPage, signIn, signInByForm } from "./_browser.ts";

/** Receiver that refuses events while `isBroken`. */
const received: any[] = [];
let isBroken = false;
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const event = await request.json();
    if (!isBroken) received.push(event);
    return isBroken ? new Response("plan is unknown", { status: 422 }) : new Response();
  },
});

let server: Server;
let browser: Browser;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await buildConsole();
  [server, browser] = await Promise.all([startServer(), sharedBrowser()]);
}, 300_000);
afterAll(async () => {
  await server?.stop();
  if (server) removeDirectory(server.directory);
  await receiver.stop(true);
}, 300_000);

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const menu = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name, exact: true });

async function makeSource(page: Page): Promise<void> {
  await menu(page, "Sources").click();
  await page.getByText("No source yet").waitFor();
  await button(page, "New source").first().click();
  await page.getByLabel("Name", { exact: true }).fill("Shop");
  await button(page, "Create source").click();
  await heading(page, "Shop").waitFor();
  await page.getByText("No destinations connected").waitFor();
}

async function makeDestination(page: Page): Promise<void> {
  await menu(page, "Destinations").click();
  await button(page, "New destination").first().click();
  await page.getByLabel("Name", { exact: true }).fill("CRM");
  await page.getByLabel("Webhook URL").fill("nonsense");
  await button(page, "Create destination").click();
  // The form shows each error at its field.
  await page
    .locator(".field .wrong")
    .filter({ hasText: "Expected a URL with http:// or https://" })
    .waitFor();
  await page.getByLabel("Webhook URL").fill(receiver.url.href);
  await page.getByLabel("Secret (optional)", { exact: true }).fill(`whsec_${"c2VjcmV0".repeat(4)}`);
  await page.getByText("Advanced", { exact: true }).click();
  const template = page.getByLabel(/^Template/);
  await template.fill('{"type": {{type}}}');
  await button(page, "Create destination").click();
  await page.locator(".field .wrong").filter({ hasText: "Expected a path such as" }).waitFor();
  await template.fill('{\n  "type": {{event.type}},\n  "event": "{{event.event}}"\n}');
  await button(page, "Create destination").click();
  await heading(page, "CRM").waitFor();
  await button(page, "Send test event").click();
  await page.locator(".steps .badge.good").filter({ hasText: "write" }).waitFor();
  expect(received.map(({ event }) => event)).toEqual(["Connection test"]);
  await page.getByText("No sources connected").waitFor();
  await button(page, "Connect").click();
  await page.locator(".entry").filter({ hasText: "Shop" }).waitFor();
}

async function sendTestEvent(page: Page, outcome: string): Promise<void> {
  await menu(page, "Sources").click();
  await page.getByRole("link", { name: "Shop", exact: true }).click();
  await button(page, "Send test event").click();
  await page.locator(".badge").filter({ hasText: "received" }).waitFor();
  await page.locator(".badge").filter({ hasText: outcome }).waitFor();
}

async function replayFromGroup(page: Page): Promise<void> {
  await menu(page, "Overview").click();
  await page
    .getByRole("link", { name: /dead letter/ })
    .first()
    .click();
  await page.getByRole("link", { name: "HTTP 422 from receiver" }).click();
  await page.getByRole("link", { name: "Test event" }).click();
  await page.getByLabel("reason", { exact: true }).getByText("422").waitFor();
  await page.goBack();
  isBroken = false;
  await button(page, "Replay all 1").click();
  await button(page, "Replay").click();
  await page.getByText("1 dead letter requeued").waitFor();
  await page.getByText("No dead letters").waitFor();
}

describeWith(chromiumMissing)("the main tasks", () => {
  test("a source, a destination, a test event, a replay and a new write key", async () => {
    const { page, close } = await openPage(browser);
    await signInByForm(page, server.controlPlane, ADMIN_TOKEN);
    await page.getByText("First steps").waitFor();
    await makeSource(page);
    await makeDestination(page);
    await sendTestEvent(page, "delivered");
    expect(received.at(-1)).toMatchObject({ type: "track", event: "Test event" });

    isBroken = true;
    await sendTestEvent(page, "Failed");
    await page.locator("details[open]").getByText("plan is unknown").waitFor();
    await replayFromGroup(page);
    while (received.length < 3) await Bun.sleep(20);
    expect(received.at(-1)).toMatchObject({ event: "Test event" });

    // The secret is not shown, and saving the form keeps it.
    await menu(page, "Destinations").click();
    await page.getByRole("link", { name: "CRM" }).click();
    await page.getByRole("main").getByRole("link", { name: "Settings" }).click();
    await soon(async () =>
      expect(await page.getByLabel("Secret (optional)", { exact: true }).inputValue()).toBe(""),
    );
    await page.getByLabel("Name", { exact: true }).fill("CRM of the shop");
    await button(page, "Save settings").click();
    await heading(page, "CRM of the shop").waitFor();

    await menu(page, "Sources").click();
    await page.getByRole("link", { name: "Shop", exact: true }).click();
    const before = await page.locator("dd code").first().textContent();
    await page.getByLabel("More actions").click();
    await button(page, "Rotate write key").click();
    await button(page, "Rotate the key").click();
    await page.getByText("Shop has a new write key").waitFor();
    await soon(async () =>
      expect(await page.locator("dd code").first().textContent()).not.toBe(before),
    );
    await page.getByRole("switch", { name: "Enabled" }).click();
    await page.getByRole("switch", { name: /^Disabled/ }).waitFor();
    await close();
  }, 300_000);

  test("members, tokens and credentials", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, server.controlPlane, ADMIN_TOKEN);
    await menu(page, "Settings").click();
    await page.getByRole("link", { name: "Members" }).click();
    await button(page, "New member").click();
    await page.getByLabel("Name", { exact: true }).fill("Ada");
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel(/^workspace:admin/).check();
    await button(page, "Add member").click();
    await page.getByRole("cell", { name: "ada@example.com" }).waitFor();

    await page.getByRole("link", { name: "Tokens" }).click();
    await button(page, "New token").click();
    await page.getByLabel("Name", { exact: true }).fill("Ada's laptop");
    await page.getByLabel("Owner").selectOption({ label: "Ada (ada@example.com)" });
    await button(page, "Create token").click();
    const shown = page.locator("dialog pre");
    await soon(async () => expect(await shown.textContent()).toMatch(/^pm_/));
    const secret = await shown.textContent();
    await button(page, "Done").click();

    await page.getByRole("link", { name: "Credentials" }).click();
    await button(page, "Set credential").click();
    await page.getByLabel("Name", { exact: true }).fill("SHOP_KEY");
    await page.getByLabel("Value").fill("s3cret");
    await page.getByRole("dialog").getByRole("button", { name: "Set credential" }).click();
    await page.getByRole("cell", { name: 'getCredential("SHOP_KEY")' }).waitFor();

    // Ada signs in with her token, and is signed out when she is removed.
    const ada = await openPage(browser);
    await signIn(ada.page, server.controlPlane, secret!);
    await ada.page.getByText("Ada", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Members" }).click();
    await button(page, "Remove Ada").click();
    await button(page, "Remove member").click();
    await page.getByText("No members yet").waitFor();
    // Not by the menu, which is gone if her page has already noticed.
    await ada.page.evaluate("location.hash = '#/sources'");
    await ada.page.getByText("Your session has ended").waitFor();
    await ada.close();
    await close();
  }, 300_000);
});
