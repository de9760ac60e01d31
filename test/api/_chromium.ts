import { type Browser, chromium } from "playwright-core";

/** A real Chromium, where the machine has one; a test without it is skipped with a line. */
export const executablePath = ["chromium", "chromium-browser", "google-chrome"]
  .map((name) => Bun.which(name))
  .find((path) => path !== null);

export function sayWithout(what: string): void {
  if (!executablePath) process.stderr.write(`Chromium is not installed: ${what} is skipped\n`);
}

export function launch(...args: string[]): Promise<Browser> {
  if (!executablePath) throw new Error("Chromium is not installed");
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...args], timeout: 120_000 });
}
