import type { Browser, Page } from "playwright-core";
import type { TestApi } from "../api/_setup.ts";
import { openPage, signIn } from "./_browser.ts";

/** Opens the editor with a new transformation. */
export async function openEditor(api: TestApi, browser: Browser, code: string) {
  const body = { name: "Edited", language: "javascript", code };
  const { id } = (await api.send("POST", "/transformations", { body })).body;
  const opened = await openPage(browser);
  await signIn(opened.page, api.url, api.token, `#/transformations/${id}`);
  await editor(opened.page).click();
  return { ...opened, id };
}

export const editor = (page: Page) => page.getByRole("textbox", { name: /^Code of/ });

/** The whole text of an editor whose lines are all on the screen. */
export const textOf = (page: Page) =>
  editor(page).evaluate((it) =>
    [...it.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"),
  );
