import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isIP } from "node:net";

/** The settings in `/etc/resolv.conf` (resolv.conf(5)). */
interface ResolverSettings {
  /** Addresses of the name servers, in the order in which they are queried. */
  servers: string[];
  /**
   * Domains to append to a host name, in the order of the attempts. A name with at least `dots`
   * dots is tried without a domain first, any other name without a domain last.
   */
  search: string[];
  dots: number;
}

/** Number of name servers that are used; further ones are ignored, as in glibc. */
const serversMax = 3;
const searchMax = 6;
const dotsMax = 15;
/** Number of bytes of a configuration file that are read. The rest is ignored. */
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
  // The root domain is skipped, because appending it does not change a name.
  settings.search = settings.search.filter((domain) => domain !== ".").slice(0, searchMax);
  return settings;
}

/** Parses a hosts(5) file. Returns a map from each host name, in lower case, to its addresses. */
export function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address, ...names] = line.replace(/#.*/, "").match(/\S+/g) ?? [];
    if (address === undefined || isIP(address) === 0) continue;
    for (const name of names) {
      const known = hosts.getOrInsert(name.toLowerCase(), []);
      if (!known.includes(address)) known.push(address);
    }
  }
  return hosts;
}

/**
 * Returns a function that returns a file's parsed content, and reads the file only after a change.
 * A file that cannot be opened counts as empty. Reads are synchronous, because Bun's worker threads
 * may all be busy.
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
