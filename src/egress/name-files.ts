import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isIP } from "node:net";

/** What `/etc/resolv.conf` says of name servers (resolv.conf(5)). */
export interface ResolverSettings {
  /** Addresses, most wanted first. */
  servers: string[];
  /** Domains that are tried behind a name with fewer dots than `dots`, and after it otherwise. */
  search: string[];
  dots: number;
}

/** As many as glibc takes. */
const serversMax = 3;
const searchMax = 6;
const dotsMax = 15;
/** What of a file is read; lines beyond are not there. */
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
  // The root as a domain adds nothing to a name.
  settings.search = settings.search.filter((domain) => domain !== ".").slice(0, searchMax);
  return settings;
}

/** Addresses by name in lower case, as hosts(5) has them. */
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
 * The parsed file, read again when it has changed; that of an empty file when there is none. Read
 * without the work threads, which may all be waiting for a disk.
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
