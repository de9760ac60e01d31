import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import type { Browser, Page } from "playwright-core";
import { EventBuffer, latestOf } from "../../src/console/tail/event-buffer.ts";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { axeViolations, EMPTY_SCREEN, openPage, signIn, useConsole } from "./_browser.ts";

let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});

const PER_SECOND = 5_000;

/** Sends tail events at a steady rate until stopped; late timers catch up. */
function flood(sourceId: string) {
  const beganAt = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - beganAt) * PER_SECOND) / 1_000);
    for (const until = Math.min(due, sent + PER_SECOND); sent < until; sent++) {
      const messageId = `m${sent}`;
      const at = Date.now();
      const event = { type: "track", event: `Event ${sent}`, properties: { sent, even: sent % 2 } };
      api.tell(api.workspaceId, { stage: "received", sourceId, at, messageId, event });
    }
  }, 10);
  return { sent: () => sent, stop: () => clearInterval(timer) };
}

test("recent events of one millisecond stay in the server's order, before older ones", () => {
  const buffer = new EventBuffer();
  const events = ["c", "b", "a"].map((messageId) => ({
    messageId,
    sourceId: "s",
    at: new Date(messageId === "a" ? 1 : 2).toISOString(),
    receivedAt: new Date(1).toISOString(),
    outcomes: [],
  }));
  const shown = () => latestOf(buffer.all(), 10, () => true).map(({ messageId }) => messageId);
  buffer.addRecent(events);
  expect(shown()).toEqual(["c", "b", "a"]);
  // The same events come again after a lost connection.
  buffer.addRecent(events);
  expect(shown()).toEqual(["c", "b", "a"]);
  const at = new Date(3).toISOString();
  buffer.add({ name: "received", data: { messageId: "d", sourceId: "s", at } });
  expect(shown()).toEqual(["d", "c", "b", "a"]);
});

/** Replaces `waitForFunction`, whose `eval` the content security policy forbids. */
async function until(page: Page, condition: string): Promise<void> {
  while (!(await page.evaluate(condition))) await Bun.sleep(50);
}

describeWith(chromiumMissing)("the live tail", () => {
  test("stays responsive at 5,000 events per second and bounds its buffer", async () => {
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "Flood" } });
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/events");
    await page.getByText("Waiting for events").waitFor();
    while (api.followers() === 0) await Bun.sleep(10);
    // Longest delay of a timer in the page.
    await page.evaluate(`{
      let last = performance.now();
      window.longest = 0;
      setInterval(() => {
        const now = performance.now();
        window.longest = Math.max(window.longest, now - last);
        last = now;
      }, 10);
    }`);
    const { sent, stop } = flood(source.id);
    await page.getByText("of 1,000 buffered").waitFor();
    const search = page.getByLabel("Search events");
    await search.fill('"even":1');
    await until(
      page,
      `[...document.querySelectorAll("tbody button")].every((it) => /[13579]$/.test(it.textContent))`,
    );
    await search.fill("");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.locator(".badge").filter({ hasText: "Paused" }).waitFor();
    const rows = page.locator("tbody tr");
    // Events from before the pause are still rendered; then the rows stay the same.
    let first = "";
    for (let last = "none"; first !== last; ) {
      last = first;
      await page.waitForTimeout(600);
      first = (await rows.first().textContent()) ?? "";
    }
    await soon(async () => expect(await rows.count()).toBe(200));
    await page.getByRole("button", { name: "Resume" }).click();
    await until(
      page,
      `document.querySelector("tbody tr").textContent !== ${JSON.stringify(first)}`,
    );
    stop();
    const longest = Number(await page.evaluate("window.longest"));
    process.stderr.write(
      `live tail: ${sent()} events at ${PER_SECOND}/s, the page waited ${Math.round(longest)} ms at most\n`,
    );
    await close();
  }, 300_000);
});

/** A link to the server that a test can cut. */
async function openLink(to: string) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(Number(new URL(to).port), "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    cut(cut: boolean) {
      isCut = cut;
      if (cut) for (const socket of sockets) socket.destroy();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describeWith(chromiumMissing)("the events of the live tail", () => {
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  let sourceId: string;
  let destinations: { id: string; name: string }[];
  let page: Page;
  let close: () => Promise<void>;
  let link: Awaited<ReturnType<typeof openLink>>;

  beforeAll(async () => {
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "Shop" } });
    sourceId = source.id;
    destinations = await Promise.all(
      ["Warehouse", "Mail"].map(async (name) => {
        const config = { webhookUrl: receiver.url.href };
        const body = { name, type: "webhook", config };
        const { destination } = await api.client.call("POST /v2/destinations", { body });
        await api.client.call("POST /v2/connections", {
          body: { sourceId, destinationId: destination.id },
        });
        return { id: destination.id, name };
      }),
    );
    await api.page(sourceId, "anonymousId=a&name=Before&properties.plan=pro");
    // Both destinations have the event.
    for (;;) {
      const { events } = await api.client.call("GET /v2/events/recent");
      const outcomes = events.flatMap((event) => event.outcomes);
      if (outcomes.filter((it) => it.outcome === "delivered").length === 2) break;
      await Bun.sleep(20);
    }
    link = await openLink(api.url);
    ({ page, close } = await openPage(browser));
    await signIn(page, link.url, api.token, EMPTY_SCREEN);
    await openTail();
  }, 300_000);
  afterAll(async () => {
    await close?.();
    link?.close();
    await receiver.stop(true);
  }, 300_000);

  const rows = () => page.locator("tbody tr");
  const row = (name: string) => rows().filter({ hasText: name });

  /** Opens the tail again, with this query. */
  async function openTail(query = ""): Promise<void> {
    await page.goto("about:blank");
    await until(page, "true");
    while (api.followers() > 0) await Bun.sleep(10);
    await page.goto(`${link.url}/#/events${query}`);
    while (api.followers() === 0) await Bun.sleep(10);
    await row("Before").waitFor();
  }

  const toldAt = Date.now();

  /** Sends a message about an event, which all were received at `toldAt`, to all open tails. */
  function tell(name: string, more: object = {}): void {
    api.tell(api.workspaceId, {
      stage: "received",
      sourceId,
      at: Date.now(),
      receivedAt: toldAt,
      messageId: name,
      event: { type: "page", name },
      ...more,
    });
  }

  test("that came before it was opened are there, with what became of them", async () => {
    await soon(async () => expect(await rows().count()).toBe(1));
    const text = () => row("Before").textContent();
    for (const { name } of destinations)
      await soon(async () => expect(await text()).toContain(name));
    await soon(async () => expect(await text()).not.toContain("In flight"));
    await page.getByText("The latest 1 of 1 buffered").waitFor();
    await openTail(`?destinationId=${destinations[0]!.id}`);
    await soon(async () => expect(await rows().count()).toBe(1));
  });

  test("stay when the connection drops, also during a pause", async () => {
    await openTail();
    tell("During connection");
    await row("During connection").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    link.cut(true);
    await page.locator(".badge").filter({ hasText: "Not connected" }).waitFor();
    await soon(async () => expect(await page.getByText("Waiting for events").count()).toBe(0));
    await soon(async () => expect(await row("During connection").count()).toBe(1));
    await api.page(sourceId, "anonymousId=a&name=Meanwhile");
    link.cut(false);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".badge").filter({ hasText: "Paused, 1 new" }).waitFor();
    await soon(async () => expect(await row("During connection").count()).toBe(1));
    await page.getByRole("button", { name: "Resume" }).click();
    await row("Meanwhile").waitFor();
    await soon(async () => expect(await row("During connection").count()).toBe(1));
  });

  test("that come during a pause are counted, and are there after it", async () => {
    await openTail();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.locator(".badge").filter({ hasText: "Paused, 0 new" }).waitFor();
    const before = await rows().count();
    for (const n of [1, 2, 3]) tell(`During pause ${n}`);
    await page.locator(".badge").filter({ hasText: "Paused, 3 new" }).waitFor();
    await soon(async () => expect(await rows().count()).toBe(before));
    await page.getByRole("button", { name: "Resume" }).click();
    await row("During pause 3").waitFor();
    await soon(async () => expect(await rows().count()).toBe(before + 3));
  });

  test("do not move under the pointer", async () => {
    await openTail();
    await row("Before").hover();
    tell("Under the pointer");
    await page.locator(".badge").filter({ hasText: "Paused on hover, 1 new" }).waitFor();
    await soon(async () => expect(await row("Under the pointer").count()).toBe(0));
    await page.getByRole("heading", { name: "Live tail" }).hover();
    await row("Under the pointer").waitFor();
  });

  test("show when they were received, not when they were delivered", async () => {
    await openTail();
    const receivedAt = Date.now() - 3_600_000;
    const [{ id: destinationId } = { id: "" }] = destinations;
    tell("Received earlier", { stage: "delivered", destinationId, receivedAt });
    const time = row("Received earlier").locator("time");
    await soon(async () =>
      expect(await time.getAttribute("datetime")).toBe(new Date(receivedAt).toISOString()),
    );
    // It is the latest one nonetheless.
    await soon(async () =>
      expect(await rows().first().textContent()).toContain("Received earlier"),
    );
  });

  test("are shown with the changes that code made, each destination by its name", async () => {
    await openTail();
    tell("Changed", {
      event: { type: "page", name: "Changed", properties: { plan: "pro", ip: 1 } },
    });
    const event = { type: "page", name: "Changed", properties: { plan: "free", price: 3 } };
    for (const { id } of destinations) {
      tell("Changed", { stage: "delivered", destinationId: id, event });
    }
    // A second output of the same event.
    tell("Changed", { stage: "delivered", destinationId: destinations[0]!.id, event: { n: 2 } });
    await row("Changed").getByText("Mail").waitFor();
    await page.getByRole("button", { name: "Changed" }).click();
    const dialog = page.getByRole("dialog");
    const mail = dialog.getByRole("region", { name: "Mail", exact: true });
    await mail.getByText("2 lines changed; removed: properties.ip").waitFor();
    await soon(async () =>
      expect((await mail.locator("mark").allTextContents()).map((text) => text.trim())).toEqual([
        '"plan": "free",',
        '"price": 3',
      ]),
    );
    await soon(async () =>
      expect(await dialog.getByRole("region", { name: "Warehouse, 2", exact: true }).count()).toBe(
        1,
      ),
    );
    expect(await axeViolations(page, ["wcag2a", "wcag2aa", "best-practice"])).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await axeViolations(page, ["color-contrast"])).toEqual([]);
    await page.emulateMedia({ colorScheme: "light" });
    await page.keyboard.press("Escape");
  });

  test("show what the receiver answered to a delivery that failed", async () => {
    await openTail();
    const [{ id: destinationId } = { id: "" }] = destinations;
    const response = { status: 422, body: "plan is unknown" };
    const event = { type: "page", name: "Refused" };
    tell("Refused", { stage: "dead-letter", destinationId, reason: "HTTP 422", response, event });
    await page.getByRole("button", { name: "Refused" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Response of the receiver").click();
    await dialog.getByText("plan is unknown").waitFor();
    await page.keyboard.press("Escape");
  });

  test("fit on a phone, with all their outcomes", async () => {
    await openTail();
    await page.setViewportSize({ width: 390, height: 844 });
    const excess = `(() => {
      const table = document.querySelector("section.table");
      return table.scrollWidth - table.clientWidth;
    })()`;
    await until(page, `${excess} <= 0`);
    for (const { name } of destinations) {
      const { x, width } = (await row("Before").getByText(name).boundingBox())!;
      expect(x + width).toBeLessThanOrEqual(390);
    }
    const { height } = (await row("Before").boundingBox())!;
    expect(height).toBeLessThan(160);
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  test("are on the pages of their source and of their destinations, and stand still", async () => {
    const [{ id: destinationId } = { id: "" }] = destinations;
    const code = "export function transformEvent(event) { return { ...event, added: 1 }; }";
    const body = { name: "Adds", code, language: "javascript", destinationIds: [destinationId] };
    await api.client.call("POST /transformations", { query: { publish: true }, body } as never);
    await api.page(sourceId, "anonymousId=a&name=With+code");
    const panel = page.locator("section.panel", { hasText: "Recent events" });
    const shown = (name: string) => panel.getByRole("row").filter({ hasText: name });
    const dialog = page.getByRole("dialog");
    await page.clock.install();
    for (const [hash, outcome] of [
      [`#/sources/${sourceId}`, "Warehouse"],
      [`#/destinations/${destinationId}`, "Delivered"],
    ]) {
      await page.goto(`${link.url}/${hash}`);
      await shown("With code").getByText(outcome!, { exact: true }).waitFor();
      await page.getByRole("button", { name: "With code" }).click();
      const delivered = dialog.getByRole("region", { name: "Warehouse", exact: true });
      await delivered.getByText("1 line changed").waitFor();
      await soon(async () =>
        expect(await delivered.locator("mark").allTextContents()).toEqual([
          expect.stringContaining('"added": 1'),
        ]),
      );
      const received = dialog.getByRole("region", { name: "Received", exact: true });
      await soon(async () => expect(await received.textContent()).not.toContain("added"));
      await page.keyboard.press("Escape");
    }
    await shown("With code").hover();
    await api.page(sourceId, "anonymousId=a&name=Under+the+pointer");
    const loaded = page.waitForResponse(/events.recent/);
    await page.clock.runFor(10_000);
    await loaded;
    await soon(async () => expect(await shown("Under the pointer").count()).toBe(0));
    // Escape gave the focus back to the row, which holds the rows too.
    await page.getByRole("heading", { name: "Warehouse" }).click();
    await shown("Under the pointer").waitFor();
    await panel.getByLabel("Outcome").selectOption("dead-letter");
    await panel.getByText("No recent event has this outcome").waitFor();
    await panel.getByLabel("Outcome").selectOption("not-connected");
    await panel.getByText("No recent event has this outcome").waitFor();
    // The logs have more events than one request looks through.
    const reachedAt = new Date(Date.now() - 7_000).toISOString();
    await page.route(/events.recent/, async (request) => {
      const response = await request.fetch();
      await request.fulfill({ response, json: { ...(await response.json()), reachedAt } });
    });
    await panel.getByLabel("Outcome").selectOption("delivered");
    const readBack = panel.getByText("Searched back to");
    await readBack.locator(`time[datetime="${reachedAt}"]`).waitFor();
    await readBack.getByRole("link", { name: "event search" }).waitFor();
    await page.unrouteAll({ behavior: "wait" });
    const connection = page.getByRole("link", { name: "Events of the connection with Shop" });
    await soon(async () =>
      expect(await connection.getAttribute("href")).toBe(
        `#/events?sourceId=${sourceId}&destinationId=${destinationId}`,
      ),
    );
  });

  test("are offered by the editor, and completion knows their fields, without an open tail", async () => {
    const body = { name: "T", language: "javascript", code: "" } as const;
    const { id } = await api.client.call("POST /transformations", { body });
    await page.goto(`${link.url}/#/transformations/${id}`);
    const code = page.getByRole("textbox", { name: /^Code of/ });
    await code.click();
    await page.keyboard.type("export function transformEvent(event) { event.properties.");
    const offered = page.locator(".cm-tooltip-autocomplete li").filter({ hasText: "plan" });
    await offered.waitFor();
    await soon(async () => expect(await offered.textContent()).toContain("pro"));
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Use real events" }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /Before/ })
      .waitFor();
  });
});
