import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Locator, Page } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { axeViolations, openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

/** Headers of the requests that the receiver got. */
const requests: Headers[] = [];
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    requests.push(request.headers);
    await request.text();
    if (!request.url.endsWith("/refused")) return new Response();
    return new Response('\n{"error":"plan is unknown"}\nmore', { status: 422 });
  },
});
let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});
afterAll(() => receiver.stop(true));

interface ConfigSchema {
  required?: string[];
  properties?: Record<string, { writeOnly?: boolean; "x-essential"?: boolean }>;
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const advanced = (page: Page) => page.locator("details.advanced");
const isOpen = async (page: Page) => (await advanced(page).getAttribute("open")) !== null;
/** Resolves when an element has the focus. */
const focus = (page: Page, element: Locator) => element.and(page.locator(":focus")).waitFor();

async function createWebhook(name: string, config: Record<string, unknown> = {}) {
  const { destination } = await api.client.call("POST /v2/destinations", {
    body: { name, type: "webhook", config: { webhookUrl: receiver.url.href, ...config } },
  });
  return destination.id;
}

async function openSignedIn(hash: string) {
  const opened = await openPage(browser);
  await signIn(opened.page, api.url, api.token, `#/${hash}`);
  return opened;
}

describeWith(chromiumMissing)("the form of a destination", () => {
  test("folds no secret, since a copy of a destination asks for its secrets again", async () => {
    const { destinationTypes } = await api.client.call("GET /v2/destination-types");
    const ours = destinationTypes.filter(({ deliveredBy }) => deliveredBy === "pixelmill");
    const folded = ours.flatMap(({ type, config }) => {
      const { required = [], properties = {} } = config as ConfigSchema;
      const secrets = Object.entries(properties).filter(([, property]) => property.writeOnly);
      return secrets
        .filter(([key, property]) => !required.includes(key) && !property["x-essential"])
        .map(([key]) => `${type}.${key}`);
    });
    expect(folded).toEqual([]);
  });

  test("begins with the essential settings, and opens the others for a value or an error", async () => {
    const { page, close } = await openSignedIn("destinations/new");
    await field(page, "Webhook URL").waitFor();
    await soon(async () => expect(await isOpen(page)).toBe(false));
    for (const label of ["Headers", "Secret (optional)"]) {
      await soon(async () => expect(await page.getByText(label).first().isVisible()).toBe(true));
    }
    for (const label of ["Batch size (optional)", "Timeout (ms) (optional)", "Token URL"]) {
      await soon(async () => expect(await field(page, label).isVisible()).toBe(false));
    }
    // An error that only the server finds.
    await advanced(page).locator("summary").click();
    await field(page, "Template (optional)").fill("{{");
    await advanced(page).locator("summary").click();
    await field(page, "Name").fill("Hook");
    await field(page, "Webhook URL").fill(receiver.url.href);
    await button(page, "Create destination").click();
    await advanced(page).locator(".wrong").waitFor();
    await soon(async () => expect(await isOpen(page)).toBe(true));
    // An error that the browser finds.
    await field(page, "Template (optional)").fill("");
    await field(page, "Batch size (optional)").fill("0");
    await advanced(page).locator("summary").click();
    await button(page, "Create destination").click();
    await page.locator("details.advanced[open]").waitFor();

    const id = await createWebhook("With a timeout", { timeoutMs: 900 });
    await page.goto(`${api.url}/#/destinations/${id}?tab=settings`);
    await field(page, "Timeout (ms) (optional)").waitFor();
    await soon(async () =>
      expect(await field(page, "Timeout (ms) (optional)").inputValue()).toBe("900"),
    );
    await close();
  });

  test("shows an error at its field alone, moves there, and shows no markup of names", async () => {
    const { page, close } = await openSignedIn("destinations/new");
    await field(page, "Name").fill("Hook");
    await field(page, "Webhook URL").fill("nonsense");
    await button(page, "Create destination").click();
    await page.locator(".field .wrong").waitFor();
    const form = page.locator("form");
    await soon(async () =>
      expect(await form.getByText("Expected a URL with http:// or https://").count()).toBe(1),
    );
    await soon(async () => expect(await form.textContent()).not.toContain("/config"));
    await page.getByText("Check the marked fields").waitFor();
    await focus(page, field(page, "Webhook URL"));
    const { destinationTypes } = await api.client.call("GET /v2/destination-types");
    for (const { type, deliveredBy } of destinationTypes) {
      const option = deliveredBy === "pixelmill" ? type : `${type} (by rudder-server)`;
      await field(page, "Type").selectOption({ label: option });
      if ((await advanced(page).count()) > 0 && !(await isOpen(page))) {
        await advanced(page).locator("summary").click();
      }
      await soon(async () =>
        expect([type, await page.locator("form").textContent()]).toEqual([
          type,
          expect.not.stringContaining("`"),
        ]),
      );
    }
    await close();
  });

  test("tries settings out before they are saved, with the stored secrets that it leaves blank", async () => {
    const { page, close } = await openSignedIn("destinations/new");
    const { paging } = await api.client.call("GET /v2/destinations");
    await field(page, "Webhook URL").fill("nonsense");
    await button(page, "Test settings").click();
    await page.locator(".field .wrong").waitFor();
    await field(page, "Webhook URL").fill(receiver.url.href);
    await button(page, "Test settings").click();
    await page.locator(".steps .badge.good").filter({ hasText: "write" }).waitFor();
    // The steps are of other settings than those in the form now.
    await field(page, "Webhook URL").fill(`${receiver.url.href}refused`);
    await page.locator(".steps").waitFor({ state: "detached" });
    await button(page, "Test settings").click();
    await page.locator(".steps .badge.bad").filter({ hasText: "write" }).waitFor();
    const response = page.locator(".steps details[open]");
    await response.getByText("plan is unknown").waitFor();
    await soon(async () => expect(await response.textContent()).toContain("HTTP status422"));
    expect((await api.client.call("GET /v2/destinations")).paging).toEqual(paging);

    const headers = [{ from: "X-Api-Key", to: "kept-key" }];
    const id = await createWebhook("Saved", { headers });
    await page.goto(`${api.url}/#/destinations/${id}?tab=settings`);
    requests.length = 0;
    await button(page, "Test settings").click();
    await page.locator(".steps .badge.good").filter({ hasText: "write" }).waitFor();
    expect(requests.map((it) => it.get("x-api-key"))).toEqual(["kept-key"]);
    // Another host must not get the stored secret.
    await field(page, "Webhook URL").fill("http://other.example/");
    await button(page, "Test settings").click();
    await page.getByText("Expected the secret again").waitFor();
    expect(requests).toHaveLength(1);
    await close();
  });
});

describeWith(chromiumMissing)("the form of a new destination", () => {
  test("shows a setting only where it has an effect, and does not send a value typed before", async () => {
    const { page, close } = await openSignedIn("destinations/new");
    await field(page, "Name").fill("Asked");
    await field(page, "Webhook URL").fill(receiver.url.href);
    await field(page, "Secret (optional)").fill("a secret that signs");
    await advanced(page).locator("summary").click();
    await field(page, "Batch size (optional)").fill("20");
    const leftOut = page.getByRole("status").filter({ hasText: "Left out" });
    await soon(async () => expect(await leftOut.count()).toBe(0));
    await field(page, "Webhook method (optional)").selectOption("GET");
    await leftOut.getByText("no effect with these settings: Batch size, Secret").waitFor();
    for (const label of ["Secret", "Batch size", "Template", "Batch template"]) {
      await field(page, `${label} (optional)`).waitFor({ state: "detached" });
    }
    expect(await axeViolations(page)).toEqual([]);
    // Another choice brings back what was typed.
    await field(page, "Webhook method (optional)").selectOption("PUT");
    await leftOut.waitFor({ state: "detached" });
    await soon(async () =>
      expect(await field(page, "Batch size (optional)").inputValue()).toBe("20"),
    );
    await field(page, "Webhook method (optional)").selectOption("GET");
    await button(page, "Create destination").click();
    await page.getByRole("heading", { level: 1, name: "Asked" }).waitFor();
    const asked = (await api.client.call("GET /v2/destinations")).destinations.find(
      ({ name }) => name === "Asked",
    );
    expect(asked?.config).toEqual({ webhookUrl: receiver.url.href, webhookMethod: "GET" });
    expect(asked?.secretsSet).toEqual([]);
    await close();
  });

  test.each([
    ["postgres", "Mode (optional)", "raw", ["Raw table (optional)"], ["Event tables"]],
    ["postgres", "TLS (optional)", "off", [], ["TLS CA (optional)"]],
    ["file", "Format (optional)", "parquet", ["Keep files (optional)"], []],
  ])("of type %s follows its field %s", async (type, choice, value, shown, hidden) => {
    const { page, close } = await openSignedIn("destinations/new");
    await field(page, "Type").selectOption(type);
    await advanced(page).locator("summary").click();
    await field(page, choice).waitFor();
    for (const label of shown) await field(page, label).waitFor({ state: "detached" });
    for (const label of hidden) await page.getByLabel(label).waitFor();
    await field(page, choice).selectOption(value);
    for (const label of shown) await field(page, label).waitFor();
    for (const label of hidden) await page.getByLabel(label).waitFor({ state: "detached" });
    await close();
  });

  test("keeps what was typed on another screen and after the end of a session", async () => {
    const created = await api.catalog.tokens.create(api.workspaceId, {
      name: "short",
      permissions: ["workspace:admin", "events:read"],
    });
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, created.secret, "#/destinations/new");
    await field(page, "Name").fill("Typed");
    await field(page, "Webhook URL").fill(receiver.url.href);
    const isKept = async () => {
      await field(page, "Name").waitFor();
      await soon(async () => expect(await field(page, "Name").inputValue()).toBe("Typed"));
      await soon(async () =>
        expect(await field(page, "Webhook URL").inputValue()).toBe(receiver.url.href),
      );
    };
    await page.getByRole("link", { name: "Replays" }).click();
    await page.getByRole("heading", { level: 1, name: "Replays" }).waitFor();
    await page.goBack();
    await isKept();
    await api.catalog.tokens.revoke(api.workspaceId, created.token.id);
    await button(page, "Create destination").click();
    await page.getByText("Your session has ended").waitFor();
    await page.getByLabel("Token", { exact: true }).fill(api.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await isKept();
    await button(page, "Create destination").click();
    await page.getByRole("heading", { level: 1, name: "Typed" }).waitFor();
    // The settings of a stored destination stay while another tab is open.
    const tab = (name: string) => page.getByRole("main").getByRole("link", { name, exact: true });
    await tab("Settings").click();
    await field(page, "Name").fill("Typed again");
    await tab("Health").click();
    await field(page, "Name").waitFor({ state: "detached" });
    await tab("Settings").click();
    await page.getByText("Unsaved changes").waitFor();
    await soon(async () => expect(await field(page, "Name").inputValue()).toBe("Typed again"));
    await page.goto(`${api.url}/#/destinations/new`);
    await field(page, "Name").waitFor();
    await soon(async () => expect(await field(page, "Name").inputValue()).toBe(""));
    await close();
  });
});

describeWith(chromiumMissing)("the page of a destination", () => {
  test("chooses events by their fields, without code", async () => {
    const id = await createWebhook("Filtered");
    const stored = async () =>
      (await api.client.call("GET /v2/destinations/{id}", { params: { id } })).destination.filter;
    const { page, close } = await openSignedIn(`destinations/${id}?tab=settings`);
    const events = field(page, "Events");
    await events.selectOption("Only events that match");
    await field(page, "Field").fill("properties.plan");
    await button(page, "Save filter").click();
    await page.locator(".field .wrong").waitFor();
    await field(page, "Values").fill("pro\n\n enter* ");
    await button(page, "Add a condition").click();
    const second = page.getByRole("group", { name: "Condition 2" });
    await second.getByLabel("Field").fill("event");
    await second.getByLabel("Values").fill("Order Completed");
    await button(page, "Save filter").click();
    await page.getByText("Filter saved").waitFor();
    expect(await stored()).toEqual({
      mode: "only",
      conditions: [
        { path: "properties.plan", values: ["pro", "enter*"] },
        { path: "event", values: ["Order Completed"] },
      ],
    });
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    await second.getByRole("button", { name: "Remove condition" }).click();
    await events.selectOption("All events except those that match");
    await button(page, "Save filter").click();
    await page.getByText("Filter saved").waitFor();
    expect(await stored()).toMatchObject({
      mode: "except",
      conditions: [{ values: ["pro", "enter*"] }],
    });
    await page.getByRole("main").getByRole("link", { name: "Health", exact: true }).click();
    await page.getByText("All events except those that match").waitFor();
    await page.getByRole("main").getByRole("link", { name: "Settings", exact: true }).click();
    await events.selectOption("All events of its sources");
    await button(page, "Save filter").click();
    while ((await stored()) !== undefined) await Bun.sleep(20);
    await close();
  });

  test("finds a transformation on the server where there are more than a select shows", async () => {
    const code = "export const transformEvent = (event) => event";
    for (const name of ["Far away", "Nearby"]) {
      const body = { name, code, language: "javascript" } as const;
      await api.client.call("POST /transformations", { query: { publish: true }, body });
    }
    const id = await createWebhook("Linked");
    const { page, close } = await openSignedIn("destinations");
    // The first page of the list has one of two.
    await page.route(/v2.code/, async (request) => {
      const response = await request.fetch();
      const { code: rows, total } = await response.json();
      const all = rows.filter(({ name }: { name: string }) => name !== "Far away");
      const isSearched = request.request().url().includes("text=far");
      await request.fulfill({
        response,
        json: isSearched ? { code: rows, total } : { code: all, total: 101 },
      });
    });
    await page.goto(`${api.url}/#/destinations/${id}`);
    const select = field(page, "Transformation");
    await select.locator("option", { hasText: "Nearby" }).waitFor({ state: "attached" });
    await soon(async () =>
      expect(await select.locator("option", { hasText: "Far away" }).count()).toBe(0),
    );
    await page.getByLabel("Search transformations").fill("far");
    await select.selectOption({ label: "Far away" });
    await button(page, "Apply").click();
    await page.getByRole("link", { name: "Open in the editor" }).waitFor();
    // Its name is known although the list does not have it.
    await page.getByLabel("Search transformations").fill("");
    await select.locator("option", { hasText: "Nearby" }).waitFor({ state: "attached" });
    await soon(async () =>
      expect(await select.locator("option:checked").textContent()).toBe("Far away"),
    );
    await page.unrouteAll({ behavior: "wait" });
    await close();
  });

  test("removes a stored secret that has no effect with new settings, after it said so", async () => {
    const id = await createWebhook("Signed", { secret: "a secret that signs" });
    const { page, close } = await openSignedIn(`destinations/${id}?tab=settings`);
    await field(page, "Webhook method (optional)").selectOption("DELETE");
    await page
      .getByText("Left out, since they have no effect with these settings: Secret")
      .waitFor();
    await button(page, "Test settings").click();
    await page.locator(".steps .badge.good").filter({ hasText: "write" }).waitFor();
    await button(page, "Save settings").click();
    await page.getByText("Settings saved").waitFor();
    const { destination } = await api.client.call("GET /v2/destinations/{id}", { params: { id } });
    expect([destination.config.webhookMethod, destination.secretsSet]).toEqual(["DELETE", []]);
    await close();
  });

  test("duplicates its settings without secrets, and names those to enter again", async () => {
    const id = await createWebhook("CRM", {
      headers: [
        { from: "X-Team", to: "growth" },
        { from: "X-Api-Key", to: "kept-key" },
      ],
      secret: "a secret that signs",
      batchSize: 20,
    });
    const filter = { mode: "only" as const, conditions: [{ path: "type", values: ["track"] }] };
    await api.client.call("PUT /v2/destinations/{id}", { params: { id }, body: { filter } });
    const { page, close } = await openSignedIn(`destinations/${id}`);
    await soon(async () =>
      expect(await page.getByRole("button", { name: "Delete" }).isVisible()).toBe(false),
    );
    const menu = page.getByLabel("More actions");
    await menu.click();
    await page.getByRole("link", { name: "Duplicate" }).click();
    await field(page, "Name").waitFor();
    await soon(async () => expect(await field(page, "Name").inputValue()).toBe("Copy of CRM"));
    const notice = page.getByRole("status").filter({ hasText: "Enter again" });
    await soon(async () =>
      expect(await notice.getByRole("listitem").allTextContents()).toEqual([
        "Secret",
        "Headers: X-Api-Key",
      ]),
    );
    await soon(async () =>
      expect(await field(page, "Batch size (optional)").inputValue()).toBe("20"),
    );
    expect(await axeViolations(page)).toEqual([]);
    await field(page, "To").nth(1).fill("another-key");
    await notice.getByText("X-Api-Key").waitFor({ state: "detached" });
    await field(page, "Secret (optional)").fill("another secret");
    await notice.waitFor({ state: "detached" });
    await button(page, "Create destination").click();
    await page.getByRole("heading", { level: 1, name: "Copy of CRM" }).waitFor();
    const copy = (await api.client.call("GET /v2/destinations")).destinations.find(
      ({ name }) => name === "Copy of CRM",
    );
    expect(copy?.config).toMatchObject({ batchSize: 20 });
    expect(copy?.filter).toEqual(filter);
    expect(copy?.secretsSet.toSorted()).toEqual(["/headers/1/to", "/secret"]);
    await close();
  });

  test("stores the consents that it needs, shows them, and copies them", async () => {
    const id = await createWebhook("Ads");
    const stored = async (id: string) =>
      (await api.client.call("GET /v2/destinations/{id}", { params: { id } })).destination
        .consentIds;
    const { page, close } = await openSignedIn(`destinations/${id}?tab=settings`);
    const consents = field(page, "Required consents (optional)");
    // Few destinations need consents, so the field is folded until it has a value.
    await page.locator("summary", { hasText: "Advanced" }).waitFor();
    await soon(async () => expect(await consents.isVisible()).toBe(false));
    await page.locator("summary", { hasText: "Advanced" }).click();
    await consents.fill(`ads\n${"x".repeat(1_000)}`);
    await button(page, "Save settings").click();
    await page.locator(".field .wrong").waitFor();
    await consents.fill(" ads \n\nmarketing\n");
    await button(page, "Save settings").click();
    await page.getByText("Settings saved").waitFor();
    expect(await stored(id)).toEqual(["ads", "marketing"]);
    await page.reload();
    await consents.waitFor();
    await soon(async () => expect(await consents.inputValue()).toBe("ads\nmarketing"));
    const filter = { mode: "only" as const, conditions: [{ path: "type", values: ["track"] }] };
    await api.client.call("PUT /v2/destinations/{id}", { params: { id }, body: { filter } });
    await page.goto(`${api.url}/#/destinations/new?copyOf=${id}`);
    await consents.waitFor();
    await button(page, "Create destination").click();
    await page.getByRole("heading", { level: 1, name: "Copy of Ads" }).waitFor();
    // Another type begins without settings, also without those that no field shows.
    await page.goto(`${api.url}/#/destinations/new?copyOf=${id}`);
    await consents.waitFor();
    await field(page, "Name").fill("Other type");
    await page.getByLabel("Type").selectOption({ label: "KAFKA (by rudder-server)" });
    const config = { hostName: "kafka.test", port: "9092", topic: "events" };
    await page.getByLabel("Settings (JSON)").fill(JSON.stringify(config));
    await button(page, "Create destination").click();
    await page.getByRole("heading", { level: 1, name: "Other type" }).waitFor();
    const other = (await api.client.call("GET /v2/destinations")).destinations.find(
      ({ name }) => name === "Other type",
    );
    expect([other?.filter, other?.consentIds]).toEqual([undefined, []]);
    const copy = (await api.client.call("GET /v2/destinations")).destinations.find(
      ({ name }) => name === "Copy of Ads",
    );
    expect(copy?.consentIds).toEqual(["ads", "marketing"]);
    await close();
  });

  test("has its dangerous actions in a menu, which gives the focus back", async () => {
    const id = await createWebhook("Menu");
    const { page, close } = await openSignedIn(`destinations/${id}`);
    const menu = page.getByLabel("More actions");
    await menu.focus();
    await page.keyboard.press("Enter");
    await button(page, "Delete").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await button(page, "Delete").waitFor({ state: "hidden" });
    await focus(page, menu);
    // It does not stay over what has the focus next.
    await page.keyboard.press("Enter");
    for (let tabs = 0; tabs < 3; tabs++) await page.keyboard.press("Tab");
    await button(page, "Delete").waitFor({ state: "hidden" });
    await menu.focus();
    await page.keyboard.press("Enter");
    await button(page, "Delete").click();
    await button(page, "Cancel").click();
    await page.locator("dialog").waitFor({ state: "detached" });
    await focus(page, menu);
    await close();
  });

  test("says for how long no event was delivered", async () => {
    const id = await createWebhook("Closed", { webhookUrl: "http://127.0.0.1:9/" });
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "Closed" } });
    await api.client.call("POST /v2/connections", {
      body: { sourceId: source.id, destinationId: id },
    });
    await api.page(source.id, "anonymousId=a&name=Home");
    const { page, close } = await openSignedIn(`destinations/${id}`);
    const panel = page.getByRole("region", { name: "What is wrong" });
    await panel.getByText(/^No successful delivery for \d+ (s|min)$/).waitFor();
    await close();
  });

  test("says first what the receiver answered, in its own words, and what to do", async () => {
    const webhookUrl = `${receiver.url.href}in?token=hidden&path=/refused`;
    const id = await createWebhook("Refused", { webhookUrl });
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "Shop" } });
    await api.client.call("POST /v2/connections", {
      body: { sourceId: source.id, destinationId: id },
    });
    await api.page(source.id, "anonymousId=a&name=Home");
    while ((await api.client.call("GET /v2/dead-letters")).paging.total === 0) await Bun.sleep(20);
    const { page, close } = await openSignedIn(`destinations/${id}`);
    const panel = page.getByRole("region", { name: "What is wrong" });
    await panel.getByText('HTTP 422 from receiver: {"error":"plan is unknown"}').waitFor();
    await panel.getByText("The receiver refuses what these events contain").waitFor();
    await panel.getByRole("link", { name: "Edit settings" }).waitFor();
    await page.getByText(`${receiver.url.href}in?token=***&path=/refused`).waitFor();
    await panel.getByRole("link", { name: "Replay 1" }).waitFor();
    await close();
  });
});
