import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { specialCharacters } from "../../src/console/editor/special-characters.ts";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";
import { editor, openEditor, textOf } from "./_editor.ts";

setDefaultTimeout(300_000);

test("every control and format character is special, and no letter, digit, tab or line end is", () => {
  const isSpecial = (text: string) => text.search(specialCharacters) === 0;
  const wrong: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const text = String.fromCodePoint(code);
    const ordinary = "\t\n\r".includes(text);
    if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) && isSpecial(text) === ordinary) {
      wrong.push(code.toString(16));
    }
  }
  expect(wrong).toEqual([]);
  for (const text of ["a", "é", "7", " ", "漢", "😀", "ا"])
    expect([text, isSpecial(text)]).toEqual([text, false]);
});

describeWith(chromiumMissing)("the editor", () => {
  let api: TestApi;
  let browser: Browser;
  useConsole((opened) => {
    ({ api, browser } = opened);
  });
  const edit = (code: string) => openEditor(api, browser, code);

  test("finds text that is far from the lines on the screen", async () => {
    const lines = Array.from({ length: 1_500 }, (_, n) => `let a${n} = ${n};`);
    const { page, close } = await edit(lines.join("\n"));
    await page.keyboard.press("Control+f");
    await page.getByRole("textbox", { name: "Find" }).pressSequentially("a1400 ");
    await page.keyboard.press("Enter");
    await page.locator(".cm-searchMatch-selected").filter({ hasText: "a1400" }).waitFor();
    await close();
  });

  test("marks characters that hide or reverse the text", async () => {
    const { page, close } = await edit('const a = "user\u202e \u2066// Check\u2069"; // \u200b');
    const marks = page.locator(".cm-specialChar");
    await marks.first().waitFor();
    await soon(async () =>
      expect(await marks.allTextContents()).toEqual(["U+202E", "U+2066", "U+2069", "U+200B"]),
    );
    await close();
  });

  test("typed text replaces one line and several lines without an inline style", async () => {
    const { page, close } = await edit("const first = 1;\nconst second = 2;\nconst third = 3;");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("xy");
    await soon(async () => expect(await editor(page).textContent()).toBe("xy"));
    // On a slow machine the two keys are two changes. Without a change left, undo does nothing.
    for (const _ of "xy") await page.keyboard.press("Control+z");
    await editor(page).filter({ hasText: "third" }).waitFor();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Shift+End");
    await page.keyboard.type("z");
    await editor(page).filter({ hasText: "zconst second" }).waitFor();
    await close();
  });

  test("code with the line ends of Windows opens as it is, without an unsaved change", async () => {
    const { page, id, close } = await edit("const a = 1;\r\nconst b = 2;\r\n");
    await soon(async () => expect(await textOf(page)).toBe("const a = 1;\nconst b = 2;\n"));
    await soon(async () =>
      expect(await page.getByText("Unsaved", { exact: true }).count()).toBe(0),
    );
    // A change of another that is merged with it has changed one line, and not all.
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("// mine\n");
    const code = "const a = 1;\r\nconst b = 3;\r\n";
    await api.send("POST", `/transformations/${id}`, { body: { code } });
    await page.getByRole("button", { name: "Save draft" }).click();
    const dialog = page.getByRole("dialog", { name: "Merge changes" });
    await dialog.getByText("No place was changed by both.").waitFor();
    await dialog.getByRole("button", { name: "Use the result" }).click();
    await soon(async () =>
      expect(await textOf(page)).toBe("// mine\nconst a = 1;\nconst b = 3;\n"),
    );
    await close();
  });

  test("formats code as one step, with the cursor at its place", async () => {
    const { page, close } = await edit("export function f(e){\nconst  a = [1,2]\nreturn a}\n");
    await caretAfter(page, "[1");
    await page.keyboard.press("Shift+Alt+F");
    const formatted = "export function f(e) {\n  const a = [1, 2];\n  return a;\n}\n";
    await soon(async () => expect(await textOf(page)).toBe(formatted));
    await page.keyboard.type("7");
    expect(await textOf(page)).toBe(formatted.replace("[1,", "[17,"));
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+z");
    await soon(async () =>
      expect(await textOf(page)).toStartWith("export function f(e){\nconst  a"),
    );
    await page.getByRole("button", { name: "Format" }).click();
    await soon(async () => expect(await textOf(page)).toBe(formatted));
    await close();
  });

  test("code with a syntax error is not formatted, and the error is shown at its place", async () => {
    const lines = Array.from({ length: 200 }, (_, n) => `let a${n}  = ${n}`);
    const { page, close } = await edit([...lines, "let b = ;;)"].join("\n"));
    await page.keyboard.press("Control+Home");
    await page.getByRole("button", { name: "Format" }).click();
    await page.getByText("Not formatted: line 201, column 9: Unexpected token: ';'").waitFor();
    const fault = page.locator(".cm-fault");
    await fault.filter({ hasText: "Unexpected token: ';'" }).waitFor();
    expect(await textOf(page)).toContain("let a199  = 199\n");
    // The cursor is in the line; the error is of the text as it was.
    await page.keyboard.type("//");
    await fault.waitFor({ state: "detached" });
    await close();
  });

  test("Python has no button to format", async () => {
    const body = { name: "P", language: "pythonfaas", code: "def transformEvent(e, m): return e" };
    const { id } = (await api.send("POST", "/transformations", { body })).body;
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, `#/transformations/${id}`);
    await page.getByRole("button", { name: "Functions" }).click();
    await page.getByRole("dialog").getByText("log(*values)").waitFor();
    await soon(async () =>
      expect(await page.getByRole("dialog").getByText("fetchV2").count()).toBe(0),
    );
    await page.keyboard.press("Escape");
    await soon(async () =>
      expect(await page.getByRole("button", { name: "Format" }).count()).toBe(0),
    );
    await close();
  });

  test("a line of live code is in the logs of its transformation, as text and isolated", async () => {
    const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const made = async (path: string, body: object) =>
      (await api.send("POST", path, { body })).body;
    const { source } = await made("/v2/sources", { name: "Site" });
    const config = { webhookUrl: receiver.url.href };
    const { destination } = await made("/v2/destinations", { name: "D", type: "webhook", config });
    const ids = { sourceId: source.id, destinationId: destination.id };
    await made("/v2/connections", ids);
    const { id } = await made("/transformations?publish=true", {
      ...{ name: "Logs", language: "javascript", destinationIds: [destination.id] },
      code: "export const transformEvent = (e) => { log('<b>\u202e', e.name); return e; };",
    });
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, `#/transformations/${id}`);
    await page.getByRole("link", { name: "Logs" }).click();
    await page.getByText("No lines").waitFor();
    await api.page(source.id, "anonymousId=a&name=Home");
    const line = page.locator("pre.log-line bdi").filter({ hasText: "Home" });
    await line.waitFor();
    await soon(async () => expect(await line.textContent()).toBe("<b>\u202e Home"));
    await page.getByLabel("Filter lines").fill("nothing like it");
    await page.getByText("No lines").waitFor();
    await close();
    await receiver.stop(true);
  });
});

/** Moves the cursor behind a text that occurs once. */
async function caretAfter(page: Page, text: string): Promise<void> {
  const before = (await textOf(page)).split(text)[0]!.length + text.length;
  await page.keyboard.press("Control+Home");
  for (let at = 0; at < before; at++) await page.keyboard.press("ArrowRight");
}
