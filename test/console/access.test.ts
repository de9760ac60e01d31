import { expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { axeViolations, openPage, signIn, signInByForm, useConsole } from "./_browser.ts";

let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name });

async function source(name: string, workspaceId = api.workspaceId) {
  return api.catalog.sources.create(workspaceId, { name });
}

describeWith(chromiumMissing)("console sessions", () => {
  test("sign-in shows why a wrong token is refused, and a session survives a reload", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(api.url);
    await page.getByLabel("Token").fill("pm_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .filter({ hasText: "Invalid, expired or revoked token" })
      .waitFor();
    await signInByForm(page, api.url, api.token);
    await heading(page, "Overview").waitFor();
    // Scripts cannot read the cookie, and the page does not store the token.
    expect(await page.evaluate("document.cookie")).toBe("");
    expect(
      await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])"),
    ).toBe("[{},{}]");
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    await page.reload();
    await heading(page, "Overview").waitFor();
    // The next user of the tab must not see the sample events of this one.
    await page.evaluate("sessionStorage.setItem('sample-events', '[]')");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate("JSON.stringify({ ...sessionStorage })")).toBe("{}");
    await close();
  }, 300_000);

  test("an expired session shows the sign-in, which returns to what the user has typed", async () => {
    const created = await api.catalog.tokens.create(api.workspaceId, {
      name: "short",
      permissions: ["workspace:admin", "events:read"],
    });
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, created.secret, "#/settings/credentials");
    const second = await page.context().newPage();
    await second.goto(`${api.url}/#/sources`);
    await heading(second, "Sources").waitFor();
    await page.getByRole("button", { name: "Set credential" }).click();
    const dialog = page.getByRole("dialog", { name: "Set credential" });
    await dialog.getByLabel("Name").fill("SHOP_KEY");
    await dialog.getByLabel("Value").fill("typed");
    await api.catalog.tokens.revoke(api.workspaceId, created.token.id);
    const save = dialog.getByRole("button", { name: "Set credential" });
    await save.click();
    const ended = page.getByText("Your session has ended");
    await ended.waitFor();
    expect(await axeViolations(page)).toEqual([]);
    // Nothing but a sign-in uncovers the screen.
    for (const key of ["Escape", "Escape", "Control+k"]) await page.keyboard.press(key);
    await second.getByText("Your session has ended").waitFor();
    await page.getByLabel("Token").fill(api.token);
    await page.keyboard.press("Enter");
    await ended.waitFor({ state: "detached" });
    await dialog.getByText("Nothing was changed").waitFor();
    await soon(async () => expect(await dialog.getByLabel("Value").inputValue()).toBe("typed"));
    await save.and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("cell", { name: 'getCredential("SHOP_KEY")' }).waitFor();
    // The other tab has the same cookie.
    await second.getByText("Your session has ended").waitFor({ state: "detached" });
    // The button that opened the dialog is gone with its row.
    await page.getByRole("button", { name: "Delete SHOP_KEY" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete credential" }).click();
    await page.locator("#main:focus").waitFor();
    await close();
  }, 300_000);

  test("a tab follows the sign-in and the sign-out of another tab", async () => {
    const other = await api.catalog.workspaces.create("Elsewhere");
    const { secret } = await api.catalog.tokens.create(other.id, {
      name: "elsewhere",
      permissions: ["workspace:admin"],
    });
    await source("Only there", other.id);
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/sources");
    await heading(page, "Sources").waitFor();
    const second = await page.context().newPage();
    await second.goto(api.url);
    const enter = async () => {
      await second.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Token").waitFor();
      // It has not expired: the next user must not see what this one has typed.
      await soon(async () => expect(await page.getByText("session has ended").count()).toBe(0));
      await second.getByLabel("Token").fill(secret);
      await second.getByRole("button", { name: "Sign in" }).click();
      await second.locator(".frame").waitFor();
    };
    await enter();
    const name = page.locator("bdi[title=Elsewhere]").first();
    await name.waitFor({ state: "attached", timeout: 30_000 });
    await page.getByText("Only there").waitFor();
    // A tab that shows another token's user follows, too.
    const reader = await api.tokenWith(["events:read"], other.id);
    await page.context().request.post(`${api.url}/v2/session`, { data: { token: reader } });
    await second.reload();
    const description = "Requires workspace:admin";
    await page.getByRole("button", { name: "New source", description }).waitFor();
    await close();
  }, 300_000);

  test("a control that the token may not use is disabled and names the missing permission", async () => {
    const { id } = await source("Read only");
    const mayRead = await api.tokenWith(["events:read"]);
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, mayRead, `#/sources/${id}`);
    await page.getByText("destinations require workspace:admin").waitFor();
    await page.goto(`${api.url}/#/settings/tokens`);
    await page.getByText("Requires workspace:admin").waitFor();
    await page.goto(`${api.url}/#/system`);
    await page.getByText("Requires workspace:admin").waitFor();
    await close();

    const mayAdminister = await api.tokenWith(["workspace:admin"]);
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "Held back", type: "file", config: { path: "a.jsonl" } },
    });
    const { transformation } = await published();
    const other = await openPage(browser);
    await signIn(other.page, api.url, mayAdminister, `#/destinations/${destination.id}`);
    await other.page.getByLabel("Transformation").selectOption(transformation);
    const connect = other.page.getByRole("button", { name: "Apply" });
    await soon(async () => expect(await connect.getAttribute("aria-disabled")).toBe("true"));
    await soon(async () =>
      expect(await connect.getAttribute("aria-description")).toBe(
        "Requires transformations:connect",
      ),
    );
    // A forced click sends no request.
    const asked: string[] = [];
    other.page.on("request", (request) => request.method() === "PUT" && asked.push(request.url()));
    await connect.click({ force: true });
    // Without the health of destinations there is no filter by it.
    await other.page.goto(`${api.url}/#/destinations`);
    await other.page.getByRole("link", { name: "Held back" }).waitFor();
    await soon(async () => expect(await other.page.getByLabel("Health").count()).toBe(0));
    await other.page.goto(`${api.url}/#/events`);
    await other.page.getByText("Requires events:read").waitFor();
    expect(asked).toEqual([]);
    await other.close();
  }, 300_000);

  test("the settings show who one is, with the role by name, and where a role ends", async () => {
    const input = { name: "Ada", email: "ada@example.com", workspaceRole: "operator" as const };
    const member = await api.catalog.members.create(api.workspaceId, input);
    const personal = { name: "Laptop", permissions: [], memberId: member.id };
    const { secret } = await api.catalog.tokens.create(api.workspaceId, personal);
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, secret, "#/settings");
    await page.getByText("Operator: also replays and purges dead letters").waitFor();
    const required = async (name: string, within: "Screens" | "Tabs of this screen") => {
      const link = page.getByRole("navigation", { name: within }).getByRole("link", { name });
      return await link.getAttribute("aria-description");
    };
    await soon(async () =>
      expect(await required("Members", "Tabs of this screen")).toBe("Requires workspace:admin"),
    );
    await soon(async () => expect(await required("Workspace", "Tabs of this screen")).toBeNull());
    await soon(async () =>
      expect(await required("Audit log", "Screens")).toBe("Requires audit:read"),
    );
    await soon(async () => expect(await required("Live tail", "Screens")).toBeNull());
    // A role that is taken away is gone from the next session.
    await api.catalog.members.update(api.workspaceId, member.id, { workspaceRole: null });
    await page.reload();
    await page.getByText("No role", { exact: true }).waitFor();
    await close();
  }, 300_000);

  test("a list of a page of the API is shown whole", async () => {
    for (let n = 0; n < 60; n++) {
      await api.catalog.tokens.create(api.workspaceId, { name: `token ${n}`, permissions: [] });
    }
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/settings/tokens");
    await page.getByText("token 59", { exact: true }).waitFor();
    await soon(async () =>
      expect(await page.getByRole("navigation", { name: "Pages" }).count()).toBe(0),
    );
    await close();
  }, 300_000);

  test("a list that is longer than a page of the API is loaded whole, or says that it is cut", async () => {
    for (let n = 0; n < 101; n++) {
      const body = { name: `member ${n}`, email: `m${n}@example.com`, permissions: [] };
      await api.send("POST", "/v2/members", { body });
    }
    const created = await api.send("POST", "/transformations", {
      body: { name: "Revised", language: "javascript", code: "0" },
    });
    const { id } = created.body;
    for (let n = 1; n < 101; n++) {
      await api.send("POST", `/transformations/${id}`, { body: { code: `${n}` } });
    }
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/settings/tokens");
    await page.getByRole("button", { name: "New token" }).click();
    const member = page.getByLabel("Owner").getByRole("option", { name: "member 100 " });
    await member.waitFor({ state: "attached" });
    await page.goto(`${api.url}/#/transformations/${id}?tab=history`);
    await page.getByText("The newest 100 revisions").waitFor();
    await page.getByRole("button", { name: "Load older" }).click();
    await page.getByRole("cell", { name: "101", exact: true }).waitFor();
    await soon(async () => expect(await page.getByText("The newest 100").count()).toBe(0));
    await close();
  }, 300_000);

  test("? lists the keyboard shortcuts, and a chosen theme is kept in the browser", async () => {
    const { page, close } = await openPage(browser, { colorScheme: "light" });
    await signIn(page, api.url, api.token);
    await heading(page, "Overview").waitFor();
    const list = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await page.keyboard.press("?");
    await list.getByText("Run the test events").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await list.waitFor();
    await page.keyboard.press("Escape");
    // A question mark that is typed into a field stays one.
    await page.goto(`${api.url}/#/sources`);
    await page.getByRole("searchbox").pressSequentially("?");
    await soon(async () => expect(await page.getByRole("searchbox").inputValue()).toBe("?"));
    await soon(async () => expect(await list.count()).toBe(0));

    const background = () =>
      page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    const [light, dark] = ["rgb(247, 247, 249)", "rgb(16, 17, 20)"];
    const choose = (name: string) => page.getByRole("button", { name, exact: true }).click();
    await soon(async () => expect(await background()).toBe(light));
    await choose("Dark");
    await page.reload();
    await heading(page, "Sources").waitFor();
    await soon(async () => expect(await background()).toBe(dark));
    expect(await axeViolations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    await choose("Light");
    await soon(async () => expect(await background()).toBe(light));
    await choose("System");
    await soon(async () => expect(await background()).toBe(dark));
    await page.emulateMedia({ colorScheme: "light" });
    await soon(async () => expect(await background()).toBe(light));
    await close();
  }, 300_000);

  test("a session of one workspace sees nothing of another workspace", async () => {
    const { id } = await source("Mine alone");
    const stranger = await api.catalog.workspaces.create("Stranger");
    const { page, close } = await openPage(browser);
    await signIn(
      page,
      api.url,
      await api.tokenWith(["workspace:admin", "events:read"], stranger.id),
    );
    await page.goto(`${api.url}/#/sources`);
    await page.getByText("No source yet").waitFor();
    await page.goto(`${api.url}/#/sources/${id}`);
    await page.getByRole("alert").filter({ hasText: "not found" }).waitFor();
    await soon(async () => expect(await page.getByText("Mine alone").count()).toBe(0));
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("mine");
    await page.getByText("No results for").waitFor();
    await close();
  }, 300_000);

  test("a page of another origin can neither use the session nor frame the console", async () => {
    const { page, close, consoleErrors } = await openPage(browser);
    await signIn(page, api.url, api.token);
    const foreign = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () =>
        new Response(`<iframe src="${api.url}/"></iframe>`, {
          headers: { "Content-Type": "text/html" },
        }),
    });
    const before = (await api.client.call("GET /v2/sources")).paging.total;
    const evil = await page.context().newPage();
    await evil.goto(foreign.url.href);
    const outcome = await evil.evaluate(`fetch("${api.url}/v2/sources", {
      method: "POST", credentials: "include", body: JSON.stringify({ name: "Forged" }),
      headers: { "Content-Type": "text/plain" },
    }).then((answer) => answer.status, () => "refused")`);
    expect(outcome).toBe("refused");
    const framed = evil.frames().find((frame) => frame !== evil.mainFrame());
    await soon(async () =>
      expect(
        await framed
          ?.locator("#console")
          .count()
          .catch(() => 0),
      ).toBe(0),
    );
    expect((await api.client.call("GET /v2/sources")).paging.total).toBe(before);
    await foreign.stop(true);
    consoleErrors.length = 0;
    await close();
  }, 300_000);
});

async function published() {
  const { id } = await api.client.call("POST /transformations", {
    query: { publish: true },
    body: {
      name: "Code",
      language: "javascript",
      code: "export function transformEvent(event) { return event; }",
    },
  });
  return { transformation: id };
}
