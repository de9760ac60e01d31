import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { DEAD_LETTER_FILTER_GROUPS_MAX } from "../../src/settings/limits.ts";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { EMPTY_SCREEN, openPage, signIn, useConsole } from "./_browser.ts";

/** Answers with the status that the event's page name is. */
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const { name } = (await request.json()) as { name: string };
    return new Response(`The field seats of ${name} is missing`, { status: Number(name) });
  },
});
let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});
afterAll(() => receiver.stop(true));

let sourceId: string;
/** Ids of two destinations, whose dead letters have the same two reasons. */
const destinationIds: string[] = [];

const listGroups = async () => api.client.call("GET /v2/dead-letter-groups");

async function send(names: readonly string[], total: number): Promise<void> {
  for (const name of names) await api.page(sourceId, `anonymousId=a&name=${name}`);
  while ((await listGroups()).letters < total) await Bun.sleep(20);
}

beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  const { call } = api.client;
  sourceId = (await call("POST /v2/sources", { body: { name: "Shop" } })).source.id;
  for (const name of ["CRM", "Mail"]) {
    const { destination } = await call("POST /v2/destinations", {
      body: { name, type: "webhook", config: { webhookUrl: receiver.url.href } },
    });
    destinationIds.push(destination.id);
    const body = { sourceId, destinationId: destination.id };
    await call("POST /v2/connections", { body });
  }
  await send(["422", "422", "422", "403", "403"], 10);
}, 300_000);

interface BulkRequest {
  ids?: string[];
  filter?: { destinationId?: string; groupId?: string; groupIds?: string[] };
  expected?: number;
  before?: string;
}

/** Answers all replays and purges in place of the server. Returns the bodies of the requests. */
async function interceptRequests(page: Page, answer: () => { status: number; body: object }) {
  const sent: BulkRequest[] = [];
  await page.route(/\/dead-letters\/(replay|purge)$/, async (route) => {
    sent.push(route.request().postDataJSON());
    const { status, body } = answer();
    await route.fulfill({ status, json: body });
  });
  return sent;
}

/** Returns how many dead letters a request reaches, and their destinations. */
async function reachOf({ ids, filter = {} }: BulkRequest) {
  if (ids !== undefined) {
    const { deadLetters } = await api.client.call("GET /v2/dead-letters");
    const found = deadLetters.filter(({ id }) => ids.includes(id));
    return { count: found.length, destinationIds: new Set(found.map((it) => it.destinationId)) };
  }
  const { groupIds = filter.groupId === undefined ? undefined : [filter.groupId] } = filter;
  const groups = (await listGroups()).deadLetterGroups.filter(
    ({ id, destinationId }) =>
      groupIds?.includes(id) !== false && destinationId === (filter.destinationId ?? destinationId),
  );
  return {
    count: groups.reduce((sum, group) => sum + group.count, 0),
    destinationIds: new Set(groups.map((it) => it.destinationId)),
  };
}

describeWith(chromiumMissing)("replays and purges of dead letters", () => {
  test("reach only what their confirmation names", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, EMPTY_SCREEN);
    const sent = await interceptRequests(page, () => ({
      status: 200,
      body: { replayed: 1, purged: 1 },
    }));
    const { deadLetterGroups } = await listGroups();
    const [group] = deadLetterGroups;
    const search = (text: string) => page.getByLabel("Search reasons").fill(text);
    const choose = (n: number) => page.getByRole("checkbox").nth(n).check();
    const cases: [string, hash: string, choose: () => Promise<unknown>, count: number][] = [
      ["groups found by reason", "", () => search("422"), 6],
      ["groups found by destination", "", () => search("mail"), 5],
      ["all groups", "", async () => {}, 10],
      ["all groups of a destination", `?destinationId=${destinationIds[0]}`, async () => {}, 5],
      ["all letters of a group", `?groupId=${group!.id}`, async () => {}, 3],
      ["all letters", "?all=1", async () => {}, 10],
      ["chosen letters", "?all=1", () => choose(0).then(() => choose(3)), 2],
      ["a chosen page", "?all=1", () => page.getByText("Select page").click(), 10],
    ];
    // Since when: the time of the first letter of a group.
    await page.goto(`${api.url}/#/dead-letters`);
    const { firstAt } = (await listGroups()).deadLetterGroups[0]!;
    await page.locator(`tbody td[data-title=First] time[datetime="${firstAt}"]`).first().waitFor();
    for (const [name, hash, select, count] of cases) {
      for (const action of ["Purge", "Replay"]) {
        await page.goto(`${api.url}/${EMPTY_SCREEN}`);
        await page.goto(`${api.url}/#/dead-letters${hash}`);
        await page.locator("tbody td").first().waitFor();
        await select();
        const button = page.getByRole("main").getByRole("button", { name: `${action} ` });
        // Red is only the button that confirms.
        await soon(async () => expect(await button.getAttribute("class")).not.toContain("danger"));
        await button.filter({ hasText: String(count) }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByText(`${action} ${count} dead letters?`).waitFor();
        const text = (await dialog.textContent()) ?? "";
        await dialog.getByRole("button", { name: action, exact: true }).click();
        await dialog.waitFor({ state: "detached" });

        const request = sent.pop()!;
        expect(sent).toEqual([]);
        const reach = await reachOf(request);
        const counted = request.ids?.length ?? request.expected;
        expect([name, action, reach.count, counted]).toEqual([name, action, count, count]);
        expect(request.ids !== undefined || request.before !== undefined).toBe(true);
        for (const [at, destination] of ["CRM", "Mail"].entries()) {
          const isReached = reach.destinationIds.has(destinationIds[at]!);
          expect([name, text.includes(destination)]).toEqual([name, isReached]);
        }
        expect(text).toMatch(/HTTP (422|403) from receiver/);
      }
    }
    await close();
  }, 300_000);

  test("ask again with the current count when there are more than confirmed", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, EMPTY_SCREEN);
    const refusal = { message: "Expected at most 6 dead letters", current: { count: 8 } };
    let answer = { status: 412, body: refusal as object };
    const sent = await interceptRequests(page, () => answer);
    await page.goto(`${api.url}/#/dead-letters`);
    await page.getByLabel("Search reasons").fill("422");
    await page.getByRole("button", { name: "Purge 6 matching" }).click();
    await send(["422"], 12);
    await page.getByRole("dialog").getByRole("button", { name: "Purge" }).click();
    await page.getByText("Purge 8 dead letters?").waitFor();
    await page.getByText("there were 6 dead letters in the list, and there are 8 now").waitFor();
    answer = { status: 200, body: { purged: 8 } };
    await page.getByRole("dialog").getByRole("button", { name: "Purge" }).click();
    await page.getByText("8 dead letters deleted").waitFor();
    expect(sent.map(({ expected }) => expected)).toEqual([6, 8]);
    expect(sent[0]!.before! < sent[1]!.before!).toBe(true);
    // A question does not stay over another screen.
    await page.getByRole("button", { name: /^Purge \d+ matching/ }).click();
    await page.getByRole("dialog").waitFor();
    await page.goBack();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await close();
  }, 300_000);

  test("name at most as many groups as the server takes", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, EMPTY_SCREEN);
    const list = await listGroups();
    let groups = DEAD_LETTER_FILTER_GROUPS_MAX;
    await page.route("**/v2/dead-letter-groups", (route) => {
      const [group] = list.deadLetterGroups;
      const deadLetterGroups = Array.from({ length: groups }, (_, n) => ({
        ...group,
        id: `${n}`,
        count: 1,
      }));
      const paging = { total: 7_777 };
      return route.fulfill({ json: { ...list, deadLetterGroups, paging } });
    });
    const open = async () => {
      await page.goto(`${api.url}/${EMPTY_SCREEN}`);
      await page.goto(`${api.url}/#/dead-letters`);
      await page.getByLabel("Search reasons").fill("receiver");
    };
    await open();
    await page.getByRole("button", { name: `Purge ${groups} matching` }).waitFor();
    // The API lists the most frequent ones.
    await page.getByText(`Only the ${groups} most frequent of 7,777 reasons`).waitFor();
    groups++;
    await open();
    await page.getByText(`${groups} reasons match, and ${groups - 1} can be`).waitFor();
    await soon(async () =>
      expect(await page.getByRole("button", { name: /^Purge/ }).count()).toBe(0),
    );
    await close();
  }, 300_000);
});

describeWith(chromiumMissing)("a failed delivery", () => {
  test("shows first what the receiver answered, and returns to the list of its group", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, EMPTY_SCREEN);
    const answer = "The field seats of 422 is missing";
    const region = page.getByLabel("response", { exact: true });
    await page.goto(`${api.url}/#/destinations/${destinationIds[0]}`);
    const trouble = page.getByRole("region", { name: "What is wrong" });
    await trouble
      .getByText(/^HTTP 4\d\d from receiver: The field seats of 4\d\d is missing$/)
      .waitFor();

    await page.goto(`${api.url}/#/dead-letters?destinationId=${destinationIds[0]}`);
    await page.getByRole("link", { name: "HTTP 422 from receiver" }).click();
    await page.getByRole("heading", { name: "Latest response of the receiver" }).waitFor();
    await region.getByText(answer).waitFor();
    const list = page.url();
    expect(list).toContain("groupId=");

    const open = () => page.locator("tbody a").first().click();
    await open();
    const panels = ["Failure reason", "Response of the receiver", "Attempts", "Event to deliver"];
    await soon(async () =>
      expect((await page.locator("main h2").allTextContents()).slice(0, 4)).toEqual(panels),
    );
    await soon(async () =>
      expect(await page.locator(".facts").first().textContent()).toContain("422"),
    );
    const attempts = page.getByRole("region", { name: "Attempts" }).locator("tbody tr");
    await soon(async () => expect(await attempts.count()).toBe(1));
    await soon(async () => expect(await attempts.locator("time").count()).toBe(1));
    await page.locator(".titles a.parent").click();
    await page.getByRole("checkbox").first().waitFor();
    expect(page.url()).toBe(list);

    for (const action of ["Replay", "Purge"]) {
      await interceptRequests(page, () => ({ status: 200, body: { replayed: 1, purged: 1 } }));
      await open();
      if (action === "Purge") await page.getByLabel("More actions").click();
      await page.getByRole("main").getByRole("button", { name: action, exact: true }).click();
      if (action === "Purge")
        await page.getByRole("dialog").getByRole("button", { name: action }).click();
      await page.waitForURL(list);
    }

    // Only a few responses of a group are kept.
    await page.route(/\/dead-letters\/[^/]+$/, async (route) => {
      const { deadLetter } = await (await route.fetch()).json();
      const response = { ...deadLetter.response, isSample: true, isCut: true };
      await route.fulfill({ json: { deadLetter: { ...deadLetter, attempts: 9, response } } });
    });
    await open();
    await page.getByText("came with another dead letter of this reason").waitFor();
    await page.getByText("Truncated: the receiver sent more than is shown").waitFor();
    await page.getByText("The first and last 1 of 9 attempts").waitFor();
    await close();
  }, 300_000);

  test("in the transformation leads to the code, and not to settings or a test", async () => {
    const { call } = api.client;
    const { source } = await call("POST /v2/sources", { body: { name: "App" } });
    const { destination } = await call("POST /v2/destinations", {
      body: { name: "Lake", type: "webhook", config: { webhookUrl: receiver.url.href } },
    });
    const body = { sourceId: source.id, destinationId: destination.id };
    await call("POST /v2/connections", { body });
    const { id } = await call("POST /transformations", {
      query: { publish: true },
      body: {
        name: "Plans",
        language: "javascript",
        code: `export function transformEvent(event) {
  if (event.name === "Careless") throw new Error("no plan");
}`,
        destinationIds: [destination.id],
      },
    });
    // An event that passes, so that the code is not suspended.
    await api.page(source.id, "anonymousId=a&name=Home");
    await api.page(source.id, "anonymousId=a&name=Careless");
    while (!(await listGroups()).deadLetterGroups.some((it) => it.stage === "transform")) {
      await Bun.sleep(20);
    }
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, `#/destinations/${destination.id}`);
    const trouble = page.getByRole("region", { name: "What is wrong" });
    await trouble.getByText("no plan").waitFor();
    await trouble.getByText("These events fail in the transformation").waitFor();
    await trouble.getByRole("link", { name: "Open transformation" }).click();
    await page.waitForURL((url) => url.hash === `#/transformations/${id}`);
    await close();
  }, 300_000);
});
