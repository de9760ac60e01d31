import type { Page } from "playwright-core";
import { allViolationsOf } from "./_axe.ts";
import type { Scene } from "./_scene.ts";

/** A state of a screen: how it is reached, from any other. */
export type State = [name: string, hash: string, reach: (page: Page) => Promise<unknown>];

const dialog = (page: Page) => page.getByRole("dialog");
const button = (page: Page, name: string | RegExp) =>
  page.getByRole("main").getByRole("button", { name, exact: true });
const code = (page: Page) => page.getByRole("textbox", { name: /^Code of/ });

async function write(page: Page, text: string): Promise<void> {
  await code(page).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

/** Opens a dialog by a button of the screen. */
const opening = (name: string | RegExp) => async (page: Page) => {
  await button(page, name).first().click();
  await dialog(page).waitFor();
};

/** Opens a dialog by an action in the screen's menu. */
const openingFromMenu = (name: string) => async (page: Page) => {
  await page.getByLabel("More actions").click();
  await opening(name)(page);
};

/** Types an invalid value into a field of the dialog, and submits. */
const refusedForm = (open: string, submit: string, fields: Record<string, string>) => {
  return async (page: Page) => {
    await opening(open)(page);
    for (const [label, value] of Object.entries(fields)) {
      await dialog(page).getByLabel(label, { exact: true }).fill(value);
    }
    await dialog(page).getByRole("button", { name: submit }).click();
    await dialog(page).locator(".wrong, .error").first().waitFor();
  };
};

async function searchPalette(page: Page, text: string, found: string): Promise<void> {
  // An element has the focus, to which closing gives it back.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+k");
  await dialog(page).getByRole("combobox").fill(text);
  await dialog(page).getByText(found).first().waitFor();
}

/** Others change a destination while its form has unsaved values. */
async function conflictOfSettings(scene: Scene, page: Page): Promise<void> {
  const path = `/v2/destinations/${scene.ids.healthy}`;
  const { config } = (await scene.server.api("GET", path)).body.destination;
  const size = page.getByRole("spinbutton", { name: /^Max events per request|^Batch size/ });
  await size.fill("7");
  await scene.server.api("PUT", path, { config: { ...config, batchSize: config.batchSize + 1 } });
  await button(page, "Save settings").click();
  await page.getByText("Changed by others meanwhile").waitFor();
}

/** Others save a revision while the editor has unsaved code. */
async function mergeOfCode(scene: Scene, page: Page): Promise<void> {
  const path = `/transformations/${scene.ids.transformation}`;
  const before = (await scene.server.api("GET", path)).body.code;
  await write(page, `${before}// mine\n`);
  await scene.server.api("POST", path, { code: `${before}// theirs\n` });
  await button(page, "Save draft").click();
  await page.getByRole("dialog", { name: "Merge changes" }).waitFor();
}

const failing = "export function transformEvent(event) {\n  return event.missing.field;\n}\n";

/** States of the scene's server. */
export function statesOf(scene: Scene): State[] {
  const { ids } = scene;
  const transformation = `transformations/${ids.transformation}`;
  return [
    ["search with results", "", (page) => searchPalette(page, "CRM", "CRM")],
    ["search without results", "", (page) => searchPalette(page, "zzz", "No results")],
    ["new transformation", "transformations", opening("New transformation")],
    ["functions of user code", transformation, opening("Functions")],
    ["publish", `libraries/${ids.library}`, published("export const euros = (n) => n;\n")],
    ["real events without any", transformation, opening("Use real events")],
    ["result with an error", transformation, (page) => resultOf(page, failing, "Failed")],
    [
      "result with a difference",
      transformation,
      (page) => resultOf(page, "export const transformEvent = () => ({ a: 1 });\n", "Passed"),
    ],
    [
      "code that cannot be formatted",
      transformation,
      async (page) => {
        await write(page, "let x = ;\n");
        await button(page, "Format").click();
        await page.locator(".cm-fault").waitFor();
      },
    ],
    ["merge of code", transformation, (page) => mergeOfCode(scene, page)],
    [
      "new test case",
      transformation,
      async (page) => {
        await button(page, /^Test cases/).click();
        await button(page, "Add test case").click();
        await dialog(page).waitFor();
      },
    ],
    ["comparison of revisions", `${transformation}?tab=history`, comparison],
    ["deletion of code", transformation, openingFromMenu("Delete")],
    ["logs without lines", `${transformation}?tab=logs`, (page) => shown(page, "No lines")],
    [
      "conflict of settings",
      `destinations/${ids.healthy}?tab=settings`,
      (page) => conflictOfSettings(scene, page),
    ],
    [
      "refused settings",
      `destinations/${ids.healthy}?tab=settings`,
      async (page) => {
        await page.getByLabel("Webhook URL", { exact: true }).fill("nonsense");
        await button(page, "Save settings").click();
        await page.locator(".field .wrong").first().waitFor();
      },
    ],
    ["deletion of a destination", `destinations/${ids.healthy}`, openingFromMenu("Delete")],
    [
      "failed connection test",
      `destinations/${ids.broken}`,
      async (page) => {
        await page
          .getByRole("button", { name: /^(Test|Send test event)$/ })
          .last()
          .click();
        await page.locator(".steps .badge.bad").first().waitFor();
      },
    ],
    [
      "rare settings of a new destination",
      "destinations/new",
      (page) => page.getByText("Advanced", { exact: true }).click(),
    ],
    [
      "test of settings in a form",
      `destinations/${ids.broken}?tab=settings`,
      async (page) => {
        await button(page, "Test settings").click();
        await page.locator(".steps .badge.bad").first().waitFor();
      },
    ],
    [
      "copy of a destination",
      `destinations/new?copyOf=${ids.healthy}`,
      (page) => shown(page, "are copied"),
    ],
    ["a button under the pointer", "sources", (page) => button(page, "New source").hover()],
    ["new source", "sources", opening("New source")],
    ["rotation of a write key", `sources/${ids.source}`, openingFromMenu("Rotate write key")],
    ["replay of dead letters", "dead-letters", opening(/^Replay all/)],
    ["purge of dead letters", "dead-letters", opening(/^Purge all/)],
    ["dead letters of an unknown reason", "dead-letters", noSuchReason],
    ["refused replay form", "replays/new", refusedReplay],
    ["replays that failed and partly failed", "replays", (page) => shown(page, "partly failed")],
    ["audit entries that match no filter", "audit?resource=none", noEntries],
    ["an audit entry", "audit", opening("source.create")],
    ["new rule", "alerts/rules", opening("New rule")],
    ["new receiver", "alerts/receivers", opening("New receiver")],
    [
      "refused receiver",
      "alerts/receivers",
      refusedForm("New receiver", "Add receiver", { Name: "x", URL: "nonsense" }),
    ],
    ["new member", "settings/members", opening("New member")],
    ["new token", "settings/tokens", opening("New token")],
    ["created token", "settings/tokens", createdToken],
    ["new credential", "settings/credentials", opening("Set credential")],
    ["an event of the tail", "events", (page) => eventOfTail(scene, page)],
    ["a tail that matches nothing", "events", (page) => noMatchInTail(scene, page)],
    ["event search with results", "search", eventsFound],
    ["an item that does not exist", "destinations/none", (page) => shown(page, "not found")],
  ];
}

const shown = (page: Page, text: string) => page.getByText(text).first().waitFor();

const published = (text: string) => async (page: Page) => {
  await write(page, text);
  await button(page, "Publish").click();
  await page.getByRole("dialog", { name: "Publish?" }).waitFor();
};

async function resultOf(page: Page, text: string, outcome: string): Promise<void> {
  await write(page, text);
  await button(page, "Run").click();
  await page.getByRole("region", { name: "Result" }).getByText(outcome).first().waitFor();
}

async function comparison(page: Page): Promise<void> {
  await button(page, "Compare").first().click();
  await page.locator(".cm-content").first().waitFor();
}

async function noSuchReason(page: Page): Promise<void> {
  await page.getByRole("searchbox").first().fill("no such reason");
  await shown(page, "No results");
}

async function refusedReplay(page: Page): Promise<void> {
  await page.getByLabel("Destination", { exact: true }).selectOption({ label: "CRM" });
  await page.getByLabel("Received from", { exact: true }).fill("2020-01-01");
  await page.getByLabel(/^Property/).fill("nonsense");
  await button(page, "Start replay").click();
  await page.locator(".wrong, .error").first().waitFor();
}

const noEntries = (page: Page) => shown(page, "0 entries");

async function createdToken(page: Page): Promise<void> {
  await opening("New token")(page);
  await dialog(page).getByLabel("Name", { exact: true }).fill("Script");
  await dialog(page).getByRole("button", { name: "Create token" }).click();
  await page.locator("dialog pre").waitFor();
}

async function eventOfTail(scene: Scene, page: Page): Promise<void> {
  const row = page.locator("tbody button").first();
  while ((await row.count()) === 0) {
    await scene.send();
    await Bun.sleep(200);
  }
  await row.click();
  await dialog(page).waitFor();
}

async function noMatchInTail(scene: Scene, page: Page): Promise<void> {
  await page.getByLabel("Search events").fill("no such event");
  const sending = setInterval(() => void scene.send(), 500);
  await shown(page, "No matches").finally(() => clearInterval(sending));
}

async function eventsFound(page: Page): Promise<void> {
  await page.getByRole("main").getByRole("button", { name: "Search" }).click();
  await page.locator("tbody tr").first().waitFor();
}

/** Changes the states of replays in the server's answer. */
export async function withFailedReplays(page: Page): Promise<void> {
  await page.route("**/v2/replays", async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    const [first] = body.replays ?? [];
    if (first === undefined) return route.fulfill({ response });
    // A replay that is done and has failed events is shown as partly failed.
    body.replays = ["failed", "done", "running"].map((state, n) => ({
      ...first,
      ...{ id: `${first.id}${n}`, state, counts: { ...first.counts, failed: 3 } },
    }));
    await route.fulfill({ response, json: body });
  });
}

/** Brings a screen into a state. Returns the violations that axe finds. */
export async function visit(page: Page, url: string, [, hash, reach]: State): Promise<string[]> {
  await page.goto("about:blank");
  await page.goto(`${url}/#/${hash}`);
  await page.locator("h1").first().waitFor();
  await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
  await reach(page);
  return await allViolationsOf(page);
}
