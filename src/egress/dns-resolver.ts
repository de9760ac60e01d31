import { promises as dns } from "node:dns";
import { codeOf } from "../errors.ts";
import { EGRESS_LOOKUP_MS_MAX } from "./limits.ts";
import { followFile, parseHosts, parseResolverSettings } from "./resolver-files.ts";

/** The addresses of a name, the preferred one first, and how long they are valid. */
export interface ResolvedAddresses {
  addresses: string[];
  seconds: number;
}

/** All addresses of a host name. */
export type ResolveHost = (host: string) => Promise<ResolvedAddresses>;

/** A name could not be looked up. The message holds no internal address. */
export class ResolutionFailed extends Error {
  override readonly name = "ResolutionFailed";
  /** The code that node:dns gives: `ENOTFOUND`, `ETIMEOUT`, `ESERVFAIL`, … */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

export interface ResolverOptions {
  /** `ADDRESS` or `ADDRESS:PORT` of name servers; by default those of `/etc/resolv.conf`. */
  servers?: readonly string[] | undefined;
  /** Milliseconds without an answer after which the name server is asked again, or the next one. */
  tryMs?: number;
  /** Milliseconds that IPv6 addresses are waited for after the IPv4 addresses came. */
  sixMs?: number;
  resolverFile?: string;
  hostsFile?: string;
}

interface DnsAnswer {
  addresses: { address: string; ttl: number }[];
  /** Why there is no address, unless the name has none. */
  failure?: string;
}

const tries = 2;
/** Answers of a name server that say that the name, or its address, does not exist. */
const absent = new Set(["ENOTFOUND", "ENODATA"]);

const reasons: Record<string, string> = {
  ETIMEOUT: "The name server did not answer in time",
  ECONNREFUSED: "The name server cannot be reached",
  ESERVFAIL: "The name server failed",
  EREFUSED: "The name server refused to answer",
};

/**
 * Looks names up as getaddrinfo(3) does with `hosts: files dns`, but by c-ares. getaddrinfo waits
 * in Bun's few work threads, which file I/O needs as well: 16 names whose server hangs held up
 * every file and every other name for a minute.
 */
export function createResolver(options: ResolverOptions = {}): ResolveHost {
  // The wait for IPv6 is the one of RFC 8305 §3.
  const { tryMs = 2_000, sixMs = 50 } = options;
  const settings = followFile(options.resolverFile ?? "/etc/resolv.conf", parseResolverSettings);
  const hosts = followFile(options.hostsFile ?? "/etc/hosts", parseHosts);
  /** Servers that are asked last because they kept an earlier look-up waiting. */
  let passed = 0;

  async function ask(name: string): Promise<DnsAnswer> {
    const servers = options.servers?.length ? options.servers : settings().servers;
    // Each look-up has its own resolver: a shared one keeps all answers for as long as their zones
    // ask.
    const resolver = new dns.Resolver({ timeout: tryMs, tries });
    resolver.setServers(servers.length > 0 ? rotated(servers, passed) : ["127.0.0.1"]);
    const started = performance.now();
    const six = addressesOf(resolver.resolve6(name, { ttl: true }));
    const four = await addressesOf(resolver.resolve4(name, { ttl: true }));
    const late = Bun.sleep(sixMs).then((): DnsAnswer => ({ addresses: [] }));
    const other = await (four.addresses.length > 0 ? Promise.race([six, late]) : six);
    if (performance.now() - started >= tryMs) passed += 1;
    resolver.cancel();
    const failure = four.failure ?? other.failure;
    return {
      addresses: [...four.addresses, ...other.addresses],
      ...(failure !== undefined && { failure }),
    };
  }

  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, "");
    const listed = hosts().get(name) ?? (isLocal(name) ? ["127.0.0.1", "::1"] : undefined);
    if (listed !== undefined) return { addresses: listed, seconds: 0 };
    const end = performance.now() + EGRESS_LOOKUP_MS_MAX;
    for (const candidate of host.endsWith(".") ? [host] : candidates(name, settings())) {
      const { addresses, failure } = await ask(candidate);
      if (addresses.length > 0) return found(addresses);
      // A name of the search list must not stand in for a name of which nothing is known.
      if (failure !== undefined || performance.now() > end) throw failed(failure ?? "ETIMEOUT");
    }
    throw failed("ENOTFOUND");
  };
}

/** Whether a name means this machine, whatever a name server says (RFC 6761 §6.3). */
function isLocal(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

function candidates(name: string, { search, dots }: { search: string[]; dots: number }): string[] {
  const longer = search.map((domain) => `${name}.${domain}`);
  return name.split(".").length > dots ? [name, ...longer] : [...longer, name];
}

async function addressesOf(asked: Promise<{ address: string; ttl: number }[]>): Promise<DnsAnswer> {
  try {
    return { addresses: await asked };
  } catch (error) {
    const code = codeOf(error) || "EFAILED";
    return absent.has(code) ? { addresses: [] } : { addresses: [], failure: code };
  }
}

function found(addresses: readonly { address: string; ttl: number }[]): ResolvedAddresses {
  return {
    addresses: addresses.map(({ address }) => address),
    seconds: Math.min(...addresses.map(({ ttl }) => ttl)),
  };
}

function failed(code: string): ResolutionFailed {
  const unknown = absent.has(code) ? "The name has no address" : "The name cannot be looked up";
  return new ResolutionFailed(reasons[code] ?? unknown, code);
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}
