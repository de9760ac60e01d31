import { readFileSync } from "node:fs";
import { freemem, totalmem } from "node:os";
import { dirname } from "node:path";

/**
 * Files with memory figures, for each of the two versions of Linux control groups.
 *
 * - `limits`: files with the memory limits
 * - `used`: file with the bytes in use
 * - `cache`: field of `memory.stat` that counts the bytes of cached files that were not read
 *   recently
 */
const VERSIONS = [
  {
    mount: "/sys/fs/cgroup",
    controller: "",
    limits: ["memory.max", "memory.high"],
    used: "memory.current",
    cache: "inactive_file",
  },
  {
    mount: "/sys/fs/cgroup/memory",
    controller: "memory",
    limits: ["memory.limit_in_bytes"],
    used: "memory.usage_in_bytes",
    cache: "total_inactive_file",
  },
];

/**
 * Returns how many bytes of memory this process may use, and how many of them are free. Considers
 * the machine's memory and the limits of the process's control groups. Cached files that were not
 * read recently count as free. `root` is put before the path of each file read.
 */
export function usableMemory(root = ""): { totalBytes: number; freeBytes: number } {
  const usable = { totalBytes: totalmem(), freeBytes: freemem() };
  for (const [, controllers, path] of read(`${root}/proc/self/cgroup`).matchAll(
    /^\d+:(.*?):(\/.*)$/gm,
  )) {
    const version = VERSIONS.find((it) => controllers!.split(",").includes(it.controller));
    if (version === undefined) continue;
    // A container may see its own group at the top, although its path says otherwise.
    for (let at = path!; ; at = dirname(at)) {
      const file = (name: string) => read(`${root}${version.mount}${at}/${name}`);
      const limitBytes = Math.min(...version.limits.map((name) => bytesIn(file(name))));
      if (limitBytes < Number.POSITIVE_INFINITY) {
        const cached = new RegExp(`^${version.cache} (\\d+)$`, "m").exec(file("memory.stat"))?.[1];
        const usedBytes = Number(file(version.used)) - Number(cached ?? 0);
        usable.totalBytes = Math.min(usable.totalBytes, limitBytes);
        usable.freeBytes = Math.min(usable.freeBytes, Math.max(0, limitBytes - usedBytes));
      }
      if (at === "/") break;
    }
  }
  return usable;
}

/**
 * Parses the content of a file with a memory limit. Returns Infinity for `max`, and for the empty
 * text that `read` returns for a missing file.
 */
const bytesIn = (text: string) => Number.parseInt(text, 10) || Number.POSITIVE_INFINITY;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
