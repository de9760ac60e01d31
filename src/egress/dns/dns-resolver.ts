import { promises as dns } from "node:dns";
import { codeOf } from "../../errors.ts";
import { EGRESS_LOOKUP_MS_MAX } from "../limits.ts";
import { followFile, parseHosts, parseResolverSettings } from "./resolver-files.ts";

/**
 * The addresses of a host name, in the order in which they are tried, and the seconds for which
 * they may be cached.
 */
export interface ResolvedAddresses {
  addresses: string[];
  seconds: number;
}

/** Resolves a host name to its addresses. Rejects with `ResolutionFailed`. */
export type ResolveHost = (host: string) => Promise<ResolvedAddresses>;

/** Thrown when a host name cannot be resolved. The message contains no internal address. */
export class ResolutionFailed extends Error {
  override readonly name = "ResolutionFailed";
  /** The error code of node:dns: `ENOTFOUND`, `ETIMEOUT`, `ESERVFAIL`, … */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

interface ResolverOptions {
  /** Name servers to use, as `ADDRESS` or `ADDRESS:PORT`. Default: those in `/etc/resolv.conf`. */
  servers?: readonly string[] | undefined;
  /**
   * Milliseconds after which a query that got no response is sent again: to the next name server
   * or, if there is only one, to the same.
   */
  tryMs?: number;
  /**
   * Milliseconds that the resolver waits for IPv6 addresses after the IPv4 addresses have arrived.
   */
  sixMs?: number;
  resolverFile?: string;
  hostsFile?: string;
}

interface DnsAnswer {
  addresses: { address: string; ttl: number }[];
  /** Error code of a failed query; undefined after success or if the name has no address. */
  failure?: string | undefined;
}

const tries = 2;
/** Error codes of node:dns for a name that does not exist or has no address. */
const absent = new Set(["ENOTFOUND", "ENODATA"]);

const reasons: Record<string, string> = {
  ETIMEOUT: "The name server did not answer in time",
  ECONNREFUSED: "The name server cannot be reached",
  ESERVFAIL: "The name server failed",
  EREFUSED: "The name server refused to answer",
};

/**
 * Creates a resolver of host names that follows getaddrinfo(3) with `hosts: files dns`. It uses
 * c-ares, because 16 calls of getaddrinfo to a silent name server would block Bun's worker threads
 * for a minute.
 */
export function createResolver(options: ResolverOptions = {}): ResolveHost {
  // RFC 8305 §3 recommends 50 ms for IPv6.
  const { tryMs = 2_000, sixMs = 50 } = options;
  const settings = followFile(options.resolverFile ?? "/etc/resolv.conf", parseResolverSettings);
  const hosts = followFile(options.hostsFile ?? "/etc/hosts", parseHosts);
  /**
   * Number of queries so far that took at least `tryMs`. The list of name servers is rotated by
   * this number of places, so each slow query makes later queries begin with the next name server.
   */
  let demoted = 0;

  async function query(name: string): Promise<DnsAnswer> {
    const servers = options.servers?.length ? options.servers : settings().servers;
    // Each query has its own c-ares resolver, because a shared one would cache each record for its
    // whole TTL.
    const resolver = new dns.Resolver({ timeout: tryMs, tries });
    resolver.setServers(servers.length > 0 ? rotated(servers, demoted) : ["127.0.0.1"]);
    const started = performance.now();
    const six = addressesOf(resolver.resolve6(name, { ttl: true }));
    const four = await addressesOf(resolver.resolve4(name, { ttl: true }));
    const late = Bun.sleep(sixMs).then((): DnsAnswer => ({ addresses: [] }));
    const other = await (four.addresses.length > 0 ? Promise.race([six, late]) : six);
    if (performance.now() - started >= tryMs) demoted += 1;
    resolver.cancel();
    const addresses = [...four.addresses, ...other.addresses];
    return { addresses, failure: four.failure ?? other.failure };
  }

  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, "");
    // `localhost` and names that end with `.localhost` always mean this machine (RFC 6761 §6.3).
    const isLocal = /(^|\.)localhost$/.test(name);
    const listed = hosts().get(name) ?? (isLocal ? ["127.0.0.1", "::1"] : undefined);
    if (listed !== undefined) return { addresses: listed, seconds: 0 };
    const end = performance.now() + EGRESS_LOOKUP_MS_MAX;
    for (const candidate of host.endsWith(".") ? [host] : candidates(name, settings())) {
      const { addresses: found, failure } = await query(candidate);
      if (found.length > 0) {
        const seconds = Math.min(...found.map(({ ttl }) => ttl));
        return { addresses: found.map(({ address }) => address), seconds };
      }
      // After a failed query, the search list is not used: its result could be another host than
      // the name.
      if (failure !== undefined || performance.now() > end) throw failed(failure ?? "ETIMEOUT");
    }
    throw failed("ENOTFOUND");
  };
}

function candidates(name: string, { search, dots }: { search: string[]; dots: number }): string[] {
  const longer = search.map((domain) => `${name}.${domain}`);
  return name.split(".").length > dots ? [name, ...longer] : [...longer, name];
}

async function addressesOf(asked: Promise<DnsAnswer["addresses"]>): Promise<DnsAnswer> {
  try {
    return { addresses: await asked };
  } catch (error) {
    const code = codeOf(error) || "EFAILED";
    return absent.has(code) ? { addresses: [] } : { addresses: [], failure: code };
  }
}

function failed(code: string): ResolutionFailed {
  const unknown = absent.has(code) ? "The name has no address" : "The name cannot be looked up";
  return new ResolutionFailed(reasons[code] ?? unknown, code);
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}
