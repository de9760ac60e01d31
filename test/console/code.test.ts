import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import {
  ADMIN_TOKEN,
  pixel,
  removeDirectory,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "../e2e/server.ts";
import { soon } from "../until.ts";
import { buildConsole, openPage, signIn } from "./_browser.ts";

setDefaultTimeout(300_000);

/** Markup that sets `hacked` if it is rendered as HTML. */
const hostile = `<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>`;

describeWith(chromiumMissing)("the code editor", () => {
  let server: Server;
  let browser: Browser;
  let sink: ReturnType<typeof startSink>;
  let writeKey: string;
  beforeAll(async () => {
    await buildConsole();
    server = await startServer();
    sink = startSink();
    writeKey = await connected(server, sink.url);
    const existing = { name: "Existing", language: "javascript", code: "" };
    await server.api("POST", "/transformations", existing);
    browser = await sharedBrowser();
  });
  afterAll(async () => {
    await server?.stop();
    sink?.stop();
    if (server) removeDirectory(server.directory);
  });

  const open = async (place: string) => {
    const opened = await openPage(browser);
    await signIn(opened.page, server.controlPlane, ADMIN_TOKEN, `#/${place}`);
    return opened;
  };
  const send = (fields: Record<string, string>) =>
    pixel(server, "track", { writeKey, anonymousId: "a", event: "Signed up", ...fields });
  const arrived = (event: string) =>
    waitFor(async () => sink.events.find((it) => it.event === event));

  test("code is fixed at the line of its error, run on a real event, published and rolled back", async () => {
    const { page, close } = await open("transformations/new");
    await page.getByLabel("Name").fill(hostile);
    await page.getByLabel("Description").fill(hostile);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: hostile }).waitFor();

    await write(page, code("event.properties.plan.toUpperCase()", ";;)"));
    await page.keyboard.press("Control+Enter");
    const fault = page.locator(".cm-fault");
    await fault.filter({ hasText: "SyntaxError" }).waitFor();
    await soon(async () => expect(await lineOf(fault)).toBe(4));

    // A reload keeps the unsaved text.
    await page.reload();
    await editor(page).filter({ hasText: "toUpperCase" }).waitFor();
    await page.getByText("Unsaved").waitFor();

    await write(page, code("event.properties.plan.toUpperCase()"));
    await page.getByRole("button", { name: "Run" }).click();
    await fault.filter({ hasText: "TypeError" }).waitFor();
    await soon(async () => expect(await lineOf(fault)).toBe(3));

    await write(page, code('String(event.properties.plan ?? "none").toUpperCase()'));
    await page.getByRole("button", { name: "Tests", exact: true }).click();
    await page.getByRole("button", { name: "Use real events" }).click();
    await page.getByText("Waiting for the next event").waitFor();
    await waitFor(async () => {
      await send({ "properties.plan": "pro", "properties.note": hostile });
      return (
        (await page
          .getByRole("dialog")
          .getByRole("button", { name: /^1 Signed up/ })
          .count()) > 0
      );
    });
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^1 Signed up/ })
      .click();
    await page.getByRole("button", { name: "Use as test events" }).click();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: /1 Signed up Passed/ }).waitFor();
    const result = panel(page, "Result");
    await result.locator(".cm-changedLine, .cm-insertedLine").first().waitFor();
    await result.getByText('"plan": "PRO"', { exact: true }).waitFor();
    // The output of `log` is shown as text at the line that called it.
    const logged = page.locator(".cm-log").first();
    await soon(async () => expect(await logged.textContent()).toContain("<img src=x"));
    await soon(async () => expect(await lineOf(logged)).toBe(2));

    await publish(page);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "Destinations" }).click();
    await page.getByLabel("Destination", { exact: true }).selectOption({ label: "Receiver" });
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page
      .getByRole("region", { name: "Connected destinations" })
      .getByText("Receiver")
      .waitFor();
    await send({ event: "First", "properties.plan": "pro" });
    expect((await arrived("First")).properties.plan).toBe("PRO");

    await page.getByRole("link", { name: "Code" }).click();
    await write(page, code('"changed"'));
    await page.getByLabel("Note").fill("Why it is changed");
    await editor(page).press("Control+s");
    await page.getByText("Unpublished changes").waitFor();
    await publish(page);
    await page.getByText("Unpublished changes").waitFor({ state: "detached" });
    await send({ event: "Second", "properties.plan": "pro" });
    expect((await arrived("Second")).properties.plan).toBe("changed");

    await page.getByRole("link", { name: "History" }).click();
    await panel(page, "Compare").waitFor();
    await page
      .getByRole("row")
      .filter({ hasText: "Why it is changed" })
      .getByText("Live")
      .waitFor();
    const first = page
      .getByRole("row")
      .filter({ hasNot: page.getByText("Live") })
      .last();
    await first.getByRole("button", { name: "Compare" }).click();
    await page.locator(".cm-changedLine").first().waitFor();
    const rollBack = page.getByRole("button", { name: "Roll back" }).first();
    await rollBack.click();
    await page.getByRole("dialog").getByText("Receiver").waitFor();
    await page.getByRole("dialog").getByLabel("Note").fill("Broke the plan");
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("row").filter({ hasText: "Broke the plan" }).getByText("Live").waitFor();
    await page.getByText("Live from the next batch", { exact: true }).waitFor();
    await waitFor(async () => {
      await send({ event: "Third", "properties.plan": "pro" });
      return sink.events.some((it) => it.event === "Third" && it.properties.plan === "PRO");
    });

    expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
    await close();
  });

  test("completion offers fields of the test event, metadata keys and exports of libraries", async () => {
    const library = { name: "Prices", language: "javascript", code: "export const euros = 1;" };
    await server.api("POST", "/libraries?publish=true", library);
    const body = { name: "Completed", language: "javascript", code: "" };
    const { id } = (await server.api("POST", "/transformations", body)).body;
    const { page, close } = await open(`transformations/${id}`);
    const events = page.getByRole("textbox", { name: "Test events as JSON" });
    await events.click();
    await page.keyboard.insertText('{"properties":{"basket":{"total":3}}}');
    const offered = (text: string) =>
      page.locator(".cm-tooltip-autocomplete").getByText(text, { exact: true }).waitFor();
    const typed: [string, string][] = [
      ["event.properties.bask", "basket"],
      ["event.properties.basket.", "total"],
      ["metadata(event).sourceN", "sourceName"],
      ['import { eu } from "prices";', "euros"],
      ["getC", "getCredential"],
    ];
    for (const [text, found] of typed) {
      await write(page, text);
      const inside = text.indexOf(" }");
      for (let back = text.length; inside >= 0 && back > inside; back--) {
        await page.keyboard.press("ArrowLeft");
      }
      await page.keyboard.press("Control+Space");
      await offered(found);
      await page.keyboard.press("Escape");
    }
    await close();
  });

  test("a library is tried with a transformation before it is published", async () => {
    const { page, close } = await open("libraries/new");
    await page.getByLabel("Name").fill("Text tools");
    await page.getByRole("button", { name: "Create" }).click();
    const trial = page.getByRole("textbox", { name: "Transformation that tries the library" });
    const text = `import { shout } from "textTools";\nexport const transformEvent = (e) => ({ said: shout(e.type) });`;
    await write(page, text, trial);
    await page.keyboard.press("Control+Enter");
    await panel(page, "Result").getByText('"said": "PAGE"').waitFor();
    await publish(page);
    await page.getByText("Live", { exact: true }).waitFor();
    await close();
  });

  test("buttons without permission are disabled, and unsaved text survives a revoked token", async () => {
    const made = { name: "Reader", permissions: ["events:read"] };
    const { token } = (await server.api("POST", "/v2/tokens", made)).body;
    const opened = await openPage(browser);
    const { page } = opened;
    await signIn(page, server.controlPlane, token.secret, "#/transformations");
    const create = page.getByRole("button", { name: "New transformation" });
    await soon(async () => expect(await create.getAttribute("aria-disabled")).toBe("true"));
    await soon(async () =>
      expect(await create.getAttribute("aria-description")).toContain(
        "transformations:create-delete",
      ),
    );
    await page.getByRole("link", { name: "Existing" }).click();
    const run = page.getByRole("button", { name: "Run" });
    await soon(async () =>
      expect(await run.getAttribute("aria-description")).toContain("transformations:edit"),
    );

    // Revoking the token shows the sign-in; the unsaved text is kept.
    await editor(page).click();
    await page.keyboard.insertText("// mine");
    await server.api("DELETE", `/v2/tokens/${token.id}`);
    await page.getByRole("link", { name: "History" }).click();
    await page.getByText("Your session has ended").waitFor();
    await page.getByLabel("Token").fill(ADMIN_TOKEN);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Code" }).click();
    await editor(page).filter({ hasText: "// mine" }).waitFor();
    await opened.close();
  });

  test("a page of another port cannot write with the session's cookie, and an unknown host is refused", async () => {
    const { page, close } = await open("transformations");
    await page.getByRole("link", { name: "Existing" }).waitFor();
    const evil = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response("<p>evil</p>", { headers: { "Content-Type": "text/html" } }),
    });
    // Another port is the same site, so that the browser sends the cookie.
    await page.goto(`http://127.0.0.1:${evil.port}/`);
    await page.evaluate(async (to) => {
      const body = JSON.stringify({ name: "Foreign" });
      const init = { method: "POST", mode: "no-cors", credentials: "include", body } as const;
      await fetch(to, init).catch(() => undefined);
    }, `${server.controlPlane}/v2/sources`);
    const { sources } = (await server.api("GET", "/v2/sources")).body;
    expect(sources.map(({ name }: { name: string }) => name)).not.toContain("Foreign");
    const { port } = new URL(server.controlPlane);
    const answer = await page.goto(`http://evil.test:${port}/`);
    expect(answer!.status()).toBe(403);
    await evil.stop(true);
    await close();
  });

  test("the editor opens 5,000 lines, and shows the last one", async () => {
    const body = { name: "Long", language: "javascript", code: "let a = 1;\n".repeat(5_000) };
    const { id } = (await server.api("POST", "/transformations", body)).body;
    const { page, close } = await open("");
    await page.goto(`${server.controlPlane}/#/transformations/${id}`);
    await editor(page).press("Control+End");
    await page.locator(".cm-lineNumbers").getByText("5000", { exact: true }).waitFor();
    await close();
  });
});

function code(value: string, more = ""): string {
  return `export function transformEvent(event) {
  log(event.properties.note);
  event.properties.plan = ${value};${more === "" ? "" : `\n  const x = ${more}`}
  return event;
}
`;
}

const panel = (page: Page, title: string) =>
  page.locator(".panel").filter({ has: page.getByRole("heading", { name: title, exact: true }) });
const editor = (page: Page) => page.getByRole("textbox", { name: /^Code of/ });

/**
 * Replaces the text of an editor. It is deleted first: when Chromium overwrites several lines it
 * adds an inline style, which the content security policy reports as an error.
 */
async function write(page: Page, text: string, where = editor(page)): Promise<void> {
  await where.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}

/** Number of the code line that contains the element, or that is above it. */
async function lineOf(what: ReturnType<Page["locator"]>): Promise<number> {
  await what.first().waitFor();
  return await what.first().evaluate((element) => {
    const line = element.closest(".cm-line") ?? element.previousElementSibling!;
    const lines = [...line.parentElement!.children].filter((it) => it.matches(".cm-line"));
    return lines.indexOf(line) + 1;
  });
}

async function publish(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Publish" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/passed/).waitFor();
  await dialog.getByRole("button", { name: "Publish" }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Creates a source that is connected to a receiver. Returns its write key. */
async function connected(server: Server, webhookUrl: string): Promise<string> {
  const { source } = (await server.api("POST", "/v2/sources", { name: "Site" })).body;
  const webhook = { name: "Receiver", type: "webhook", config: { webhookUrl } };
  const { destination } = (await server.api("POST", "/v2/destinations", webhook)).body;
  const pair = { sourceId: source.id, destinationId: destination.id };
  await server.api("POST", "/v2/connections", pair);
  return source.writeKey;
}
