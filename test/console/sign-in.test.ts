import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { PROVIDER_SIGN_INS_MAX } from "../../src/api/limits.ts";
import { OpenIdProvider } from "../../src/api/sign-in/openid-provider.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { startApi, type TestApi } from "../api/_setup.ts";
import { providerSettings, startProvider, type TestProvider } from "../api/sign-in/_provider.ts";
import { describeWith } from "../counterpart.ts";
import { soon, until } from "../until.ts";
import { axeViolations, buildConsole, openPage } from "./_browser.ts";

setDefaultTimeout(300_000);

let api: TestApi;
let provider: TestProvider;
let browser: Browser;
const settings = providerSettings();
const signOn = {
  name: "Acme",
  workspaceId: undefined,
  sessionSeconds: 600,
  provider: new OpenIdProvider(settings),
};

beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await buildConsole();
  api = await startApi({ signOn });
  provider = await startProvider(api.url);
  Object.assign(settings, { issuer: provider.issuer, consoleUrl: api.url });
  provider.accounts = {
    ada: { name: "Ada", email: "ada@example.com", email_verified: true, groups: ["platform"] },
    bob: { name: "Bob", email: "bob@example.com", email_verified: true, groups: [] },
    dan: { name: "Dan", email: "dan@example.com", email_verified: true, groups: ["data"] },
    eve: { name: "Eve", groups: ["platform"] },
  };
  browser = await sharedBrowser();
});
afterAll(async () => {
  await api?.stop();
  await provider?.stop();
});

const withProvider = (page: Page) => page.getByRole("link", { name: "Sign in with Acme" });

describeWith(chromiumMissing)("the sign-in screen with a provider", () => {
  test("a screen that the role does not allow says that the role lacks the permission", async () => {
    provider.current = "dan";
    const { page, close } = await openPage(browser);
    await page.goto(`${api.url}/#/audit`);
    await withProvider(page).click();
    await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    await page.getByText("Requires audit:read").waitFor();
    await page.getByText("Your role or token does not have it").waitFor();
    await close();
  });

  test("opens the screen that was asked for, in light and dark mode and on a phone", async () => {
    for (const options of [
      {},
      { colorScheme: "dark" as const },
      { viewport: { width: 390, height: 844 } },
    ]) {
      provider.current = "ada";
      const { page, close } = await openPage(browser, options);
      await page.goto(`${api.url}/#/sources`);
      await withProvider(page).waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await withProvider(page).click();
      await page.getByRole("heading", { level: 1, name: "Sources" }).waitFor();
      await close();
    }
  });

  test("signs in from another tab after a session has expired, so that nothing typed is lost", async () => {
    provider.current = "ada";
    const { page, close } = await openPage(browser);
    await page.goto(`${api.url}/#/sources/new`);
    await withProvider(page).click();
    const name = page.getByRole("dialog").getByLabel("Name");
    await name.fill("Typed");
    await page.context().clearCookies();
    const ended = page.getByText("Your session has ended");
    await ended.waitFor();
    const tab = page.context().waitForEvent("page");
    await withProvider(page).click();
    await (await tab).locator(".frame").waitFor();
    await ended.waitFor({ state: "detached" });
    await soon(async () => expect(await name.inputValue()).toBe("Typed"));
    await close();
  });

  test("says of each failure what to do, and says it once", async () => {
    const { page, close } = await openPage(browser);
    const alert = page.getByRole("alert");
    const failWith = async (account: string | undefined, text: string) => {
      provider.current = account;
      await page.context().clearCookies();
      await page.goto(api.url);
      await withProvider(page).click();
      await alert.filter({ hasText: text }).waitFor();
    };
    await failWith(undefined, "ask its administrator for access");
    await failWith("bob", "Ask an administrator to add you to a group");
    await failWith("eve", "Ask its administrator to add one");
    expect(await axeViolations(page)).toEqual([]);
    // A reload, or a session that ends later, does not show the failure again.
    await page.reload();
    await withProvider(page).waitFor();
    await soon(async () => expect(await alert.count()).toBe(0));

    await page.goto(`${api.url}/v2/session/oidc/callback?code=a&state=b`);
    await alert.filter({ hasText: "took too long or began in another browser" }).waitFor();
    // A new provider has no metadata yet, so that sign-ins wait for them.
    const setIssuer = (issuer: string) => {
      signOn.provider = new OpenIdProvider({ ...settings, issuer });
    };
    const silent = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Promise(() => {}),
    });
    setIssuer(silent.url.href);
    const waiting = Array.from({ length: PROVIDER_SIGN_INS_MAX }, () =>
      fetch(`${api.url}/v2/session/oidc`, { redirect: "manual" }),
    );
    await failWith("ada", "Try again in a minute");
    await silent.stop(true);
    await Promise.all(waiting);
    setIssuer("http://127.0.0.1:1");
    // This number of failed sign-ins of an address at once bar it for a moment.
    await until(async () => {
      await page.goto(api.url);
      await withProvider(page).click();
      return (await alert.textContent())?.includes("Try again, or sign in with a token");
    }, "the sign-in screen to say that the provider does not answer");
    await close();
  });
});
