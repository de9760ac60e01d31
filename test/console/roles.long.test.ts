import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page, Request } from "playwright-core";
import { routes } from "../../src/api/route-table.ts";
import { permissionsOf } from "../../src/catalog/management/roles.ts";
import { type Permission, workspaceRoles } from "../../src/catalog/model.ts";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import { until } from "../until.ts";
import { openPage, signIn } from "./_browser.ts";
import { type Scene, screensOf, startScene } from "./_scene.ts";

let scene: Scene;
let browser: Browser;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await ensureConsole();
  [scene, browser] = await Promise.all([startScene(), sharedBrowser()]);
  await scene.server.api("POST", "/v2/members", { name: "Ada", email: "ada@example.com" });
  const receiver = { name: "Team", type: "webhook", url: "http://127.0.0.1:1/" };
  await scene.server.api("POST", "/v2/alerts/receivers", receiver);
  await scene.server.api("PUT", "/v2/credentials/SHOP_KEY", { value: "secret" });
}, 300_000);
afterAll(async () => {
  await scene?.stop();
}, 300_000);

type Role = (typeof workspaceRoles)[number];

/** Signs a member with a role in, on a new page. */
async function signInAs(role: Role) {
  const opened = await openPage(browser);
  const { api, controlPlane } = scene.server;
  const input = { name: role, email: `${role}@example.com`, workspaceRole: role };
  const { member } = (await api("POST", "/v2/members", input)).body;
  const { token } = (await api("POST", "/v2/tokens", { name: role, memberId: member.id })).body;
  await signIn(opened.page, controlPlane, token.secret);
  return { ...opened, granted: permissionsOf(member) };
}

/** Routes of the API, those without a parameter in their path first. */
const patterns = routes
  .map((route) => {
    const [method, path = ""] = route.key.split(" ");
    return { route, method, pattern: new RegExp(`^${path.replace(/\{[^}]*\}/g, "[^/]+")}$`) };
  })
  .sort((a, b) => a.route.key.split("{").length - b.route.key.split("{").length);

/** Returns the route that a request asks, and what it needs that was not granted. */
function judge(request: Request, granted: ReadonlySet<Permission>) {
  const { pathname, searchParams } = new URL(request.url());
  const found = patterns.find(
    ({ method, pattern }) => method === request.method() && pattern.test(pathname),
  );
  if (found === undefined) throw new Error(`No route for ${request.method()} ${pathname}`);
  const { route } = found;
  const text = request.postData();
  const query = Object.fromEntries(
    [...searchParams].map(([name, value]) => [name, value === "true" ? true : value]),
  );
  const input = { query, body: text ? JSON.parse(text) : {} };
  const needed = route.needs === "open" ? [] : [...route.needs];
  for (const { permissions, holds } of route.alsoNeeds ?? []) {
    if (holds(input as never)) needed.push(...permissions);
  }
  return { key: route.key, missing: needed.filter((it) => !granted.has(it)) };
}

/**
 * Enabled controls that do not say that they need a permission; in a list, those of its first row.
 */
const CONTROLS = ["button", "a[href^='#']"]
  .map((it) => `${it}:not([aria-disabled=true], [aria-description^=Requires])`)
  .map(
    (it) => `${it}:not(tbody tr:not(:first-child) *, li:not(:first-child).entry *, .cm-editor *)`,
  )
  .join();

/** One walk through the console as a person with a role, which clicks on whatever it finds. */
class RoleWalk {
  /** Screens and requests that were refused, with the control or address that led there. */
  readonly faults = new Set<string>();
  /** Routes of changes that controls asked for. */
  readonly asked = new Set<string>();
  readonly #pending = new Set<Request>();
  #at = "";

  constructor(
    readonly page: Page,
    readonly granted: ReadonlySet<Permission>,
    /**
     * Controls that a lesser role has used. One that led to no refusal leads to none for a role
     * with more permissions.
     */
    readonly used: Set<string>,
  ) {}

  async begin(): Promise<void> {
    const { page } = this;
    page.on("request", (it) => isAwaited(it) && this.#pending.add(it));
    const end = (it: Request) => this.#pending.delete(it);
    page.on("requestfinished", end);
    page.on("requestfailed", end);
    page.on("response", (it) => {
      if (it.status() === 403)
        this.faults.add(`${this.#at}: 403 to ${it.request().method()} ${it.url()}`);
    });
    await page.route("**/*", async (route) => {
      const request = route.request();
      if (request.method() === "GET") return route.continue();
      // Nothing is changed, so that each control is there for the next one.
      const { key, missing } = judge(request, this.granted);
      this.asked.add(key);
      if (missing.length > 0) this.faults.add(`${this.#at}: ${key} needs ${missing}`);
      await route.fulfill({ status: 422, json: { message: "Not sent" } });
    });
  }

  /** Opens a screen and uses each of its controls. */
  async visit(hash: string): Promise<void> {
    await this.#open(hash);
    const links: string[] = [];
    for (const { name, href } of await this.#controls("main")) {
      // A link is followed once for all items of a kind.
      const control = href?.replace(/[0-9A-Za-z]{27}/g, "ID") ?? `${hash} “${name}”`;
      if (this.used.has(control)) continue;
      this.used.add(control);
      if (href !== undefined) links.push(href);
      else await this.#use(hash, name);
    }
    for (const href of links) await this.#follow(hash, href);
  }

  async #open(hash: string): Promise<void> {
    this.#at = hash;
    await this.page.goto(`${scene.server.controlPlane}/${hash}`);
    await this.#settle();
    await this.page.locator("main h1").first().waitFor();
    await this.page.locator("main details:not([open])").evaluateAll((all) => {
      for (const it of all) it.setAttribute("open", "");
    });
  }

  async #settle(): Promise<void> {
    const { page } = this;
    // A part that is drawn after a response may send requests of its own.
    do {
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
      await until(() => this.#pending.size === 0);
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
    } while (this.#pending.size > 0);
  }

  /** Names of the controls in a part of the page, and where those that are links lead. */
  async #controls(within: string): Promise<{ name: string; href?: string }[]> {
    const found = await this.page
      .locator(within)
      .locator(CONTROLS)
      .evaluateAll((all) =>
        all
          .filter((it) => it.checkVisibility())
          .map((it) => {
            const name = it.getAttribute("aria-label") ?? it.textContent.trim();
            const href = it.getAttribute("href");
            return href === null ? { name } : { name, href };
          }),
      );
    return [...new Map(found.map((it) => [it.href ?? it.name, it])).values()];
  }

  /** Clicks on a button, fills the form that it opens, and submits it. */
  async #use(hash: string, name: string): Promise<void> {
    const { page } = this;
    this.#at = `${hash} “${name}”`;
    await fill(page, "main");
    await press(page, "main", name);
    await this.#settle();
    if (await page.locator("dialog[open]").count()) {
      await fill(page, "dialog[open]");
      for (const control of await this.#controls("dialog[open] .ends")) {
        this.#at = `${hash} “${name}” “${control.name}”`;
        if (control.name !== "Cancel") await press(page, "dialog[open] .ends", control.name);
        await this.#settle();
      }
    }
    // The screen is opened again: a dialog is closed, and what was hidden is shown.
    await this.#open("#/nowhere");
    await this.#open(hash);
  }

  /** Follows a link, which must not lead to a screen or a form that is refused. */
  async #follow(hash: string, href: string): Promise<void> {
    await this.#open(href);
    this.#at = `${hash} → ${href}`;
    const refusal = this.page.locator("main .empty h2", { hasText: /^Requires / });
    const submit = this.page.locator(".main[type=submit][aria-description^=Requires]");
    for (const it of [...(await refusal.all()), ...(await submit.all())]) {
      this.faults.add(`${this.#at}: ${await it.textContent()} is refused`);
    }
  }
}

/** Whether a request goes to the API and ends; the live tail continues. */
const isAwaited = (request: Request) => {
  const { origin, pathname } = new URL(request.url());
  return origin === new URL(scene.server.controlPlane).origin && pathname !== "/v2/events";
};

/** Clicks on the first control of this name, if it is still there. */
async function press(page: Page, within: string, name: string): Promise<void> {
  const all = page.locator(within).locator(CONTROLS);
  await all.evaluateAll((found, wanted) => {
    const control = found.find(
      (it) => (it.getAttribute("aria-label") ?? it.textContent.trim()) === wanted,
    );
    (control as { click(): void } | undefined)?.click();
  }, name);
}

/** Fills the text fields of a form, changes those that are filled, and selects what is not yet. */
async function fill(page: Page, within: string): Promise<void> {
  for (const field of await page.locator(within).locator("form input:visible").all()) {
    const type = (await field.getAttribute("type")) ?? "text";
    const text = {
      email: "a@example.com",
      url: "https://a.example/",
      number: "3",
      date: "2026-02-16",
    };
    const value = text[type as "email"] ?? "Some text";
    if (/^(text|password|email|url|number|date)$/.test(type)) await field.fill(value);
  }
  for (const select of await page.locator(within).locator(".form select:visible").all()) {
    const isEmpty = (await select.inputValue()) === "";
    const options = await select.locator("option").count();
    if (isEmpty && options > 1) await select.selectOption({ index: 1 });
  }
}

/** Changes that the walks ask for, so that they have found the controls. */
const changes = [
  "DELETE /libraries/{id}",
  "DELETE /transformations/{id}",
  "DELETE /v2/alerts/receivers/{id}",
  "DELETE /v2/alerts/rules/{id}",
  "DELETE /v2/connections/{id}",
  "DELETE /v2/destinations/{id}",
  "DELETE /v2/members/{id}",
  "DELETE /v2/sources/{id}",
  "DELETE /v2/tokens/{id}",
  "POST /libraries",
  "POST /transformations",
  "POST /transformations/{id}/disconnectFromDestination",
  "POST /v2/alerts/receivers",
  "POST /v2/alerts/receivers/{id}/test",
  "POST /v2/alerts/rules",
  "POST /v2/connections",
  "POST /v2/credentials",
  "POST /v2/dead-letters/purge",
  "POST /v2/dead-letters/replay",
  "POST /v2/destinations",
  "POST /v2/destinations/test",
  "POST /v2/destinations/{id}/test",
  "POST /v2/members",
  "POST /v2/run",
  "POST /v2/sources",
  "POST /v2/sources/{id}/rotate-write-key",
  "POST /v2/tokens",
  "PUT /v2/alerts/receivers/{id}",
  "PUT /v2/alerts/rules/{id}",
  "PUT /v2/connections/{id}",
  "PUT /v2/destinations/{id}",
  "PUT /v2/members/{id}",
  "PUT /v2/sources/{id}",
];

describeWith(chromiumMissing)("a person with a role", () => {
  const used = new Set<string>();
  const asked = new Set<string>();
  for (const role of workspaceRoles) {
    test(`${role}: no control leads to a refusal, and no screen asks what is refused`, async () => {
      const { page, close, granted } = await signInAs(role);
      const walk = new RoleWalk(page, granted, used);
      await walk.begin();
      for (const { hash } of screensOf(scene)) await walk.visit(hash);
      expect([...walk.faults]).toEqual([]);
      for (const key of walk.asked) asked.add(key);
      await close();
    }, 900_000);
  }

  test("the walks have used the controls of every kind", () => {
    expect([...asked].sort()).toEqual(expect.arrayContaining(changes));
  });
});
