import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { soon } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

const code = (value: string) => `export function transformEvent(event) {
  event.value = "${value}";
  return event;
}
`;

describeWith(chromiumMissing)("two sessions that change one item", () => {
  let api: TestApi;
  let browser: Browser;
  useConsole((opened) => {
    ({ api, browser } = opened);
  });

  const send = async (method: string, path: string, body?: unknown) =>
    (await api.send(method, path, { ...(body !== undefined && { body }) })).body;

  /** Opens a screen in two browser sessions. */
  async function openTwice(hash: string) {
    const opened = await Promise.all([openPage(browser), openPage(browser)]);
    for (const { page } of opened) {
      await signIn(page, api.url, api.token, `#/${hash}`);
    }
    const [own, other] = opened.map(({ page }) => page) as [Page, Page];
    return { own, other, close: () => Promise.all(opened.map(({ close }) => close())) };
  }

  const editor = (page: Page) => page.locator(".cm-content").first();
  async function write(page: Page, text: string): Promise<void> {
    await editor(page).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.keyboard.insertText(text);
  }

  for (const kind of ["transformations", "libraries"]) {
    test(`see both codes of ${kind}, and the second keeps what it typed`, async () => {
      const body = { name: `Shared ${kind}`, language: "javascript", code: code("base") };
      const { id } = await send("POST", `/${kind}?publish=true`, body);
      const { own, other, close } = await openTwice(`${kind}/${id}`);
      await write(own, code("yours"));
      await write(other, code("theirs"));
      const save = (page: Page) => page.getByRole("button", { name: "Save draft" }).click();
      await save(other);
      await other.getByText("Unsaved", { exact: true }).waitFor({ state: "detached" });
      await save(own);
      const dialog = own.getByRole("dialog", { name: "Merge changes" });
      await dialog.getByText("1 place was changed by both.").waitFor();
      await dialog.getByText('"yours"').first().waitFor();
      await dialog.getByText('"theirs"').first().waitFor();
      // Who leaves the merge has the typed code still, and merges later.
      await own.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await editor(own).filter({ hasText: '"yours"' }).waitFor();
      await save(own);
      await dialog.getByRole("button", { name: "Use the result" }).click();
      await save(own);
      await own.getByText("Unsaved", { exact: true }).waitFor({ state: "detached" });
      await own.reload();
      await editor(own).filter({ hasText: '"yours"' }).waitFor();
      await close();
    });
  }

  /** Saves different values of one field in both sessions, and keeps that of the second. */
  async function expectChoice(
    hash: string,
    form: { field: (page: Page) => ReturnType<Page["getByLabel"]>; save: string; saved: string },
    [theirs, yours]: [string, string],
  ): Promise<void> {
    const { own, other, close } = await openTwice(hash);
    const save = (page: Page) => page.getByRole("button", { name: form.save }).click();
    await form.field(own).fill(yours);
    await form.field(other).fill(theirs);
    await save(other);
    await other.getByText(form.saved).first().waitFor();
    await save(own);
    const conflict = own.getByRole("alert").filter({ hasText: "Changed by others meanwhile" });
    await conflict.getByRole("radio", { name: `Yours: ${yours}` }).waitFor();
    await conflict.getByRole("radio", { name: `Theirs: ${theirs}` }).waitFor();
    await soon(async () => expect(await form.field(own).inputValue()).toBe(yours));
    await save(own);
    await own.getByText(form.saved).first().waitFor();
    await conflict.waitFor({ state: "detached" });
    await own.reload();
    await waitFor(async () => (await form.field(own).inputValue()) === yours);
    await close();
  }

  async function makeEnds() {
    const { source } = await send("POST", "/v2/sources", { name: "Shop" });
    const config = { webhookUrl: "http://127.0.0.1:9/" };
    const made = { name: "Hook", type: "webhook", config };
    const { destination } = await send("POST", "/v2/destinations", made);
    return { source, destination };
  }

  test("see both values of a destination's setting", async () => {
    const { destination } = await makeEnds();
    const field = (page: Page) => page.getByLabel("Name", { exact: true });
    const form = { field, save: "Save settings", saved: "Settings saved" };
    const hash = `destinations/${destination.id}?tab=settings`;
    await expectChoice(hash, form, ["Hook B", "Hook A"]);
  });

  test("see both values of a source's setting and of its name", async () => {
    const { source } = await makeEnds();
    const hash = `sources/${source.id}`;
    const seconds = (page: Page) => page.getByLabel("Deduplication window (s)");
    const settings = { field: seconds, save: "Save settings", saved: "Settings saved" };
    await expectChoice(hash, settings, ["60", "90"]);
    const name = (page: Page) => page.getByLabel("Name", { exact: true });
    await expectChoice(hash, { field: name, save: "Rename", saved: "Name changed" }, ["B", "A"]);
  });

  test("keep what one typed into a form while the screen loads what others changed", async () => {
    const { source } = await makeEnds();
    const { own, other, close } = await openTwice(`sources/${source.id}`);
    const seconds = (page: Page) => page.getByLabel("Deduplication window (s)");
    await seconds(own).fill("90");
    await seconds(other).fill("60");
    await other.getByRole("button", { name: "Save settings" }).click();
    await other.getByText("Settings saved").waitFor();
    // The switch loads the source again, with the settings of the other session.
    await own.getByRole("switch", { name: "Enabled" }).click();
    await own.getByRole("switch", { checked: false }).first().waitFor();
    await soon(async () => expect(await seconds(own).inputValue()).toBe("90"));
    await own.getByRole("button", { name: "Save settings" }).click();
    await own.getByRole("radio", { name: "Theirs: 60" }).waitFor();
    await close();
  });

  test("see the current state of a connection before they change it", async () => {
    const { source, destination } = await makeEnds();
    const ends = { sourceId: source.id, destinationId: destination.id };
    const { connection } = await send("POST", "/v2/connections", ends);
    const isEnabled = async () =>
      (await send("GET", `/v2/connections/${connection.id}`)).connection.enabled;
    const { own, other, close } = await openTwice(`sources/${source.id}`);
    const toggle = (page: Page) => page.getByRole("switch", { name: "Connection with Hook" });
    await toggle(own).waitFor();
    await toggle(other).click();
    await other.getByRole("switch", { name: "Connection with Hook", checked: false }).waitFor();
    await toggle(own).click();
    await own.getByText("It was changed by others meanwhile.").waitFor();
    await own.getByRole("switch", { name: "Connection with Hook", checked: false }).waitFor();
    await soon(async () => expect(await isEnabled()).toBe(false));
    await toggle(own).click();
    await own.getByRole("switch", { name: "Connection with Hook", checked: true }).waitFor();
    await soon(async () => expect(await isEnabled()).toBe(true));
    await close();
  });
});
