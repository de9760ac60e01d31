import { type Browser, chromium } from "playwright-core";
import type { Missing } from "../counterpart.ts";

const executablePath = ["chromium", "chromium-browser", "google-chrome"]
  .map((name) => Bun.which(name))
  .find((path) => path !== null);

export const chromiumMissing: Missing = executablePath ? undefined : "Chromium not installed";

export function launch(...args: string[]): Promise<Browser> {
  if (!executablePath) throw new Error("Chromium is not installed");
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...args], timeout: 120_000 });
}
