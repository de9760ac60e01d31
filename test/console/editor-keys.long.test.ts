import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, CDPSession } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { useConsole } from "./_browser.ts";
import { editor, openEditor } from "./_editor.ts";

setDefaultTimeout(300_000);

/** Number of keys in one task. */
const KEYS = 100;

describeWith(chromiumMissing)("keys in the editor", () => {
  let api: TestApi;
  let browser: Browser;
  useConsole((opened) => {
    ({ api, browser } = opened);
  });
  const edit = (code: string) => openEditor(api, browser, code);

  test.each([
    ["one line", "export const first = (a) => a;"],
    ["several lines", "const first = 1;\nconst second = 2;\nconst third = 3;"],
  ])("no way to replace %s is refused by the content security policy", async (_, lines) => {
    const { page, close } = await edit(lines);
    const devTools = await page.context().newCDPSession(page);
    const ways: [string, () => Promise<unknown>][] = [
      ["x", () => page.keyboard.press("x")],
      ["", () => page.keyboard.press("Backspace")],
      ["", () => page.keyboard.press("Delete")],
      ["", () => page.keyboard.press("Control+x")],
      [lines.replaceAll("\n", ""), () => page.keyboard.press("Control+v")],
      ["whole words", () => page.keyboard.insertText("whole words")],
      ["か", () => compose(devTools, "か")],
    ];
    for (const [text, replace] of ways) {
      await page.keyboard.press("Control+a");
      await replace();
      const isShown = () => editor(page).evaluate((it) => it.textContent);
      await waitFor(async () => (await isShown()) === text);
      await page.keyboard.press("Control+a");
      await page.keyboard.press("Delete");
      await page.keyboard.insertText(lines);
    }
    // Closing fails for every error in the console, and Chromium logs each refused style.
    await close();
  });

  test("a key in a long text makes no request and no JSON", async () => {
    const lines = Array.from({ length: 1_500 }, (_, n) => `const a${n} = { b: ${n} };`);
    const { page, close } = await edit(lines.join("\n"));
    await page.keyboard.press("Control+Home");
    // The first keys load what is loaded on the first key.
    for (const key of "lets") await page.keyboard.press(key);
    await page.getByText("Unsaved").waitFor();
    const requests: string[] = [];
    page.on("request", (it) => requests.push(it.url()));
    await page.evaluate(countJson);
    const jsonChars = await editor(page).evaluate(async (element, keys) => {
      element.focus();
      for (let key = 0; key < keys; key++) {
        Reflect.get(globalThis, "document").execCommand("insertText", false, "a");
        await Promise.resolve();
      }
      return Reflect.get(globalThis, "jsonChars");
    }, KEYS);
    expect(requests).toEqual([]);
    // The browser's driver stringifies a few characters itself.
    expect(jsonChars).toBeLessThan(5_000);
    await close();
  });

  test("keys write the unsaved text to the browser's storage once they pause", async () => {
    const { page, id, close } = await edit("let a = 1;\n".repeat(1_500));
    await page.evaluate(`globalThis.writes = [];
      const { setItem } = Storage.prototype;
      Storage.prototype.setItem = function (key, value) {
        globalThis.writes.push(value);
        return setItem.call(this, key, value);
      };`);
    // All keys in one task: no timer can end between them.
    const { typed, writes } = (await editor(page).evaluate(async (element) => {
      element.focus();
      for (const key of "abcdefghij") {
        Reflect.get(globalThis, "document").execCommand("insertText", false, key);
        await Promise.resolve();
      }
      return { typed: element.textContent, writes: Reflect.get(globalThis, "writes").length };
    })) as { typed: string; writes: number };
    expect(typed).toContain("abcdefghij");
    expect(writes).toBe(0);
    await waitFor(() => page.evaluate("writes.some((it) => it.includes('abcdefghij'))"));
    const kept = (text: string) =>
      page.evaluate(
        ([key, part]) =>
          Object.keys(localStorage).some(
            (it) => it.endsWith(key!) && localStorage.getItem(it)!.includes(part!),
          ),
        [`code ${id}`, text],
      );
    expect(await kept("abcdefghij")).toBe(true);
    // A page that is left at once keeps them too.
    await page.keyboard.type("klm");
    await page.reload();
    await editor(page).filter({ hasText: "klm" }).waitFor();
    expect(await kept("klm")).toBe(true);
    await close();
  });
});

/** Enters a text with an input method. */
async function compose(devTools: CDPSession, text: string): Promise<void> {
  await devTools.send("Input.imeSetComposition", { text, selectionStart: 1, selectionEnd: 1 });
  await devTools.send("Input.insertText", { text });
}

/** Counts the characters of JSON that are read and written. */
const countJson = `globalThis.jsonChars = 0;
for (const name of ["parse", "stringify"]) {
  const original = JSON[name];
  JSON[name] = (value, ...more) => {
    const result = original(value, ...more);
    globalThis.jsonChars += String(name === "parse" ? value : result).length;
    return result;
  };
}`;
