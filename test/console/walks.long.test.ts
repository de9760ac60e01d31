import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import {
  ADMIN_TOKEN,
  pixel,
  removeDirectory,
  type Server,
  startServer,
  startSink,
} from "../e2e/server.ts";
import { soon } from "../until.ts";
import { openPage } from "./_browser.ts";
import { Walk } from "./_walk.ts";

setDefaultTimeout(300_000);

/** Largest number of actions of each walk. A change of the console may make them fewer. */
const ACTIONS_MAX = { "new user": 27, "on call": 10 };

for (const device of ["pointer", "keyboard"] as const) {
  describeWith(chromiumMissing)(`a walk through the console with the ${device}`, () => {
    let server: Server;
    let browser: Browser;
    const healthy = startSink();
    /** Receiver of an address that is no longer right. */
    const outdated = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response("This address moved: use /v2/events", { status: 410 }),
    });
    beforeAll(async () => {
      await ensureConsole();
      [server, browser] = await Promise.all([
        startServer({ flags: ["--retry-window", "1"] }),
        sharedBrowser(),
      ]);
    });
    afterAll(async () => {
      await server?.stop();
      healthy.stop();
      await outdated.stop(true);
      if (server) removeDirectory(server.directory);
    });

    /** Sends events as a website does until the walk continues. */
    async function withVisitors(event: string, walk: () => Promise<void>): Promise<void> {
      const { sources } = (await server.api("GET", "/v2/sources")).body;
      const { writeKey } = sources[0];
      let isDone = false;
      const done = walk().finally(() => {
        isDone = true;
      });
      // A failure of the walk is thrown below.
      done.catch(() => {});
      for (let visitor = 0; !isDone; visitor++) {
        const fields = { writeKey, anonymousId: `visitor-${visitor}`, "properties.plan": "pro" };
        await pixel(server, "track", { ...fields, event });
        await Bun.sleep(200);
      }
      await done;
    }

    async function signedIn() {
      const opened = await openPage(browser);
      const walk = new Walk(opened.page, device);
      await opened.page.goto(server.controlPlane);
      await walk.fill(walk.field("Token"), ADMIN_TOKEN);
      await walk.click(walk.button("Sign in"));
      return { ...opened, walk };
    }

    function report(name: keyof typeof ACTIONS_MAX, { actions }: Walk): void {
      process.stderr.write(
        `Actions, ${name}, ${device}: ${actions.length}\n  ${actions.join("\n  ")}\n`,
      );
      expect(actions.length).toBeLessThanOrEqual(ACTIONS_MAX[name]);
    }

    test("a new user comes from nothing to a tested, published transformation, and sees it in the tail", async () => {
      const { page, walk, close } = await signedIn();
      await walk.click(walk.link("Create a source"));
      await walk.fill(walk.field("Name"), "Shop");
      await walk.click(walk.button("Create source"));
      await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();

      await walk.click(walk.menu("Destinations"));
      await walk.click(walk.button("New destination").first());
      await walk.fill(walk.field("Name"), "CRM");
      await walk.fill(walk.field("Webhook URL"), healthy.url);
      await walk.click(walk.button("Create destination"));
      await walk.click(walk.button("Connect"));
      await page.locator(".entry").filter({ hasText: "Shop" }).waitFor();

      await walk.click(walk.menu("Transformations"));
      await walk.click(walk.button("New transformation").first());
      await walk.fill(walk.field("Name"), "Loud plans");
      await walk.click(walk.button("Create"));
      await walk.write(
        page.getByRole("textbox", { name: /^Code of/ }),
        `export function transformEvent(event) {
  event.properties.plan = event.properties.plan.toUpperCase();
  return event;
}
`,
      );
      await withVisitors("Signed up", async () => {
        await walk.click(walk.button("Use real events"));
        const event = page.getByRole("dialog").getByRole("button", { name: /Signed up/ });
        await walk.click(event.first());
        await walk.click(walk.button("Use as test events"));
      });
      await walk.click(walk.button("Run"));
      await page
        .getByRole("region", { name: "Result" })
        .getByText('"plan": "PRO"')
        .first()
        .waitFor();
      await walk.click(walk.button("Publish"));
      await walk.click(page.getByRole("dialog").getByRole("button", { name: "Publish" }));
      await page.getByText("Live", { exact: true }).waitFor();
      await walk.click(walk.link("Destinations"));
      await walk.select(walk.field("Destination"), "CRM");
      await walk.click(walk.button("Connect"));
      await page.getByRole("cell", { name: "CRM" }).waitFor();

      await walk.click(walk.menu("Live tail"));
      const row = page.getByRole("row").filter({ hasText: "Ordered" });
      const delivered = row.filter({ has: page.locator(".badge.good").filter({ hasText: "CRM" }) });
      await withVisitors("Ordered", () => delivered.first().waitFor());
      await walk.click(delivered.last().getByRole("button").first());
      const atCrm = page.getByRole("dialog").getByRole("region", { name: "CRM" });
      await atCrm.getByText('"PRO"').first().waitFor();
      await close();
      report("new user", walk);
    });

    test("one on call sees which destination fails and why, mends it, replays, and has proof", async () => {
      const { body } = await server.api("GET", "/v2/destinations");
      const crm = body.destinations[0];
      const config = { ...crm.config, webhookUrl: outdated.url.href };
      await server.api("PUT", `/v2/destinations/${crm.id}`, { config });
      const { sources } = (await server.api("GET", "/v2/sources")).body;
      for (let visitor = 0; visitor < 5; visitor++) {
        const fields = { writeKey: sources[0].writeKey, anonymousId: `lost-${visitor}` };
        await pixel(server, "track", { ...fields, event: "Lost", "properties.plan": "pro" });
      }
      const { page, walk, close } = await signedIn();
      // Which: the first issue of the overview names the destination.
      const issue = page.getByRole("region", { name: "Issues" }).getByRole("listitem").first();
      await issue.filter({ hasText: "CRM" }).waitFor();
      await walk.click(issue.getByRole("link", { name: "Fix" }));
      // Why: what the receiver answered.
      const trouble = page.getByRole("region", { name: "What is wrong" });
      await trouble.getByText(/^HTTP 410 from receiver: This address moved/).waitFor();
      await trouble.getByRole("link", { name: "Replay 5" }).waitFor();
      await walk.click(trouble.getByRole("link", { name: "Edit settings" }));
      await walk.fill(walk.field("Webhook URL"), healthy.url);
      await walk.click(walk.button("Save settings"));
      await page.getByText("Settings saved").waitFor();
      await walk.click(walk.menu("Dead letters"));
      await walk.click(walk.button("Replay all 5"));
      await walk.click(page.getByRole("dialog").getByRole("button", { name: "Replay" }));
      await page.getByText("No dead letters").waitFor();
      // Proof: the replay delivered each event, and none failed again.
      await walk.click(walk.menu("Replays"));
      const row = page.locator("tbody tr").filter({ hasText: "CRM" }).first();
      await row
        .locator(".badge")
        .filter({ hasText: /^done$/ })
        .waitFor();
      await soon(async () =>
        expect((await row.locator("td").allTextContents()).slice(4, 7)).toEqual(["5", "0", "0"]),
      );
      expect(healthy.events.filter(({ event }) => event === "Lost").length).toBe(5);
      await close();
      report("on call", walk);
    });
  });
}
