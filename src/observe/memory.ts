import { readFileSync } from "node:fs";
import { freemem, totalmem } from "node:os";
import { dirname } from "node:path";

/**
 * The two versions of control groups. `limits` and `used` are the files with the memory limits and
 * with the bytes in use. `cache` is the field of `memory.stat` with the bytes of cached file data
 * that was not read lately.
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
 * Returns how many bytes of memory this process may use, and how many of them are free: those of
 * the machine, or of the process's control group (such as a container's) if that allows less.
 * Memory that caches files which were not read lately counts as free. The paths of the files that
 * are read begin with `root`.
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
 * Returns the number in the text of a file with a limit. Infinity for the text `max`, and for the
 * empty text of a missing file.
 */
const bytesIn = (text: string) => Number.parseInt(text, 10) || Number.POSITIVE_INFINITY;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
