import type { Locator, Page } from "playwright-core";

/** How a person works: with a pointer, or with the keyboard alone. */
export type Device = "pointer" | "keyboard";

/**
 * A person's walk through the console. Counts actions: each click, each filled field and each
 * shortcut is one. Waiting, reading and moving the focus cost none.
 */
export class Walk {
  readonly actions: string[] = [];

  constructor(
    readonly page: Page,
    readonly device: Device,
  ) {}

  async click(what: Locator): Promise<void> {
    if (this.device === "pointer") await what.click();
    else {
      // Waits until it is enabled.
      await what.click({ trial: true });
      await this.#focus(what);
      await this.page.keyboard.press("Enter");
    }
    this.actions.push(`click ${what}`);
  }

  async fill(field: Locator, text: string): Promise<void> {
    if (this.device === "pointer") await field.fill(text);
    else {
      await this.#focus(field);
      await this.page.keyboard.press("Control+a");
      await this.page.keyboard.insertText(text);
    }
    this.actions.push(`fill ${field}`);
  }

  async select(field: Locator, label: string): Promise<void> {
    await field.getByRole("option", { name: label }).waitFor({ state: "attached" });
    if (this.device === "pointer") await field.selectOption({ label });
    else {
      await this.#focus(field);
      await this.page.keyboard.type(label);
    }
    this.actions.push(`select ${field}`);
  }

  /** Replaces the text of a code editor. */
  async write(editor: Locator, text: string): Promise<void> {
    if (this.device === "pointer") await editor.click();
    else await this.#focus(editor);
    await this.page.keyboard.press("Control+a");
    await this.page.keyboard.insertText(text);
    this.actions.push(`write ${editor}`);
  }

  /** Moves the focus to an element with Tab, and waits until the element shows it. */
  async #focus(what: Locator): Promise<void> {
    await what.waitFor();
    for (let presses = 0; presses < TABS_MAX; presses++) {
      const focus = await focusOf(what);
      if (focus !== "elsewhere") {
        // A code editor shows the focus a moment after it has it.
        while ((await focusOf(what)) === "hidden") await Bun.sleep(20);
        return;
      }
      // In the editor, Tab indents. After Escape it moves the focus.
      if (await this.page.evaluate(isInEditor)) await this.page.keyboard.press("Escape");
      await this.page.keyboard.press("Tab");
    }
    throw new Error(`Expected Tab to reach ${what} within ${TABS_MAX} presses`);
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  link(name: string): Locator {
    return this.page.getByRole("main").getByRole("link", { name, exact: true });
  }

  menu(name: string): Locator {
    const menu = this.page.getByRole("navigation", { name: "Screens" });
    return menu.getByRole("link", { name, exact: true });
  }

  field(label: string | RegExp): Locator {
    return this.page.getByLabel(label, { exact: true });
  }
}

/** Number of elements beyond which the focus has gone around every screen of the walks. */
const TABS_MAX = 150;

const isInEditor = `(() => {
  const { activeElement } = document;
  return (activeElement?.shadowRoot?.activeElement ?? activeElement)?.isContentEditable === true;
})()`;

/**
 * Whether an element has the focus, and it or its frame looks different then: it has an outline or
 * a shadow.
 */
const focusOf = (what: Locator): Promise<"elsewhere" | "shown" | "hidden"> =>
  what.evaluate((it) => {
    if (it.getRootNode().activeElement !== it) return "elsewhere";
    const frame = it.closest(".cm-editor") ?? it;
    const isShown = [it, frame].some((shown) => {
      const { outlineStyle, boxShadow } = it.ownerDocument.defaultView.getComputedStyle(shown);
      return outlineStyle !== "none" || boxShadow !== "none";
    });
    return isShown ? "shown" : "hidden";
  });
