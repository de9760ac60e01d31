// biome-ignore-all lint: hostile on purpose
// expect: import from node:fs failed\. Module not found\.
import fs from "node:fs";
export function transformEvent(event) {
  return { read: fs.readFileSync(event.canary.file, "utf8") };
}
