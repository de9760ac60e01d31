import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isIP } from "node:net";

/** The settings of `/etc/resolv.conf` (resolv.conf(5)). */
export interface ResolverSettings {
  /** Addresses of name servers, in the order in which they are queried. */
  servers: string[];
  /**
   * Domains to append to a name: tried before the name itself when that has fewer dots than `dots`,
   * otherwise after it.
   */
  search: string[];
  dots: number;
}

/** Name servers that are used, as in glibc. */
const serversMax = 3;
const searchMax = 6;
const dotsMax = 15;
/** Bytes of a file that are read; the rest is ignored. */
const fileBytesMax = 1 << 20;

export function parseResolverSettings(text: string): ResolverSettings {
  const settings: ResolverSettings = { servers: [], search: [], dots: 1 };
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line.replace(/^[#;].*/, "").match(/\S+/g) ?? [];
    if (keyword === "nameserver" && isIP(values[0] ?? "") !== 0) settings.servers.push(values[0]!);
    if (keyword === "search") settings.search = values;
    if (keyword === "domain") settings.search = values.slice(0, 1);
    if (keyword !== "options") continue;
    const dots = values.find((value) => /^ndots:\d+$/.test(value));
    if (dots !== undefined) settings.dots = Math.min(Number(dots.slice(6)), dotsMax);
  }
  settings.servers = settings.servers.slice(0, serversMax);
  // Appending the root domain does not change a name.
  settings.search = settings.search.filter((domain) => domain !== ".").slice(0, searchMax);
  return settings;
}

/** Parses a hosts(5) file into addresses by name in lower case. */
export function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address, ...names] = line.replace(/#.*/, "").match(/\S+/g) ?? [];
    if (address === undefined || isIP(address) === 0) continue;
    for (const name of names) {
      const known = hosts.get(name.toLowerCase());
      if (known === undefined) hosts.set(name.toLowerCase(), [address]);
      else if (!known.includes(address)) known.push(address);
    }
  }
  return hosts;
}

/**
 * Returns a function that returns the parsed file and reads it again after each change; a missing
 * file counts as empty. It reads synchronously, without the worker threads, which may all be
 * waiting for a disk.
 */
export function followFile<T>(path: string, parse: (text: string) => T): () => T {
  let seen = "";
  let parsed = parse("");
  return () => {
    let file: number;
    try {
      file = openSync(path, "r");
    } catch {
      seen = "";
      parsed = parse("");
      return parsed;
    }
    try {
      const { ino, mtimeMs, size } = fstatSync(file);
      const version = `${ino} ${mtimeMs} ${size}`;
      if (version === seen) return parsed;
      const bytes = Buffer.alloc(Math.min(size, fileBytesMax));
      parsed = parse(bytes.toString("latin1", 0, readSync(file, bytes)));
      seen = version;
    } finally {
      closeSync(file);
    }
    return parsed;
  };
}
