import { isIP } from "node:net";
import { FairSemaphore, fewerThanFree } from "../concurrency/fair-semaphore.ts";
import type { AddressRules } from "./address-rules.ts";
import type { ResolvedAddresses, ResolveHost } from "./dns/dns-resolver.ts";

/**
 * Longest time in seconds that the checked addresses of a host name are cached, even if its DNS
 * records have a longer TTL.
 */
const EGRESS_RESOLVED_SECONDS_MAX = 30;
/**
 * Shortest time in seconds that the checked addresses of a host name are cached, even if its DNS
 * records have a shorter TTL.
 */
const EGRESS_RESOLVED_SECONDS_MIN = 1;
/**
 * Milliseconds for which an address comes after the others of its host name, counted from a failed
 * connection. It is longer than the time for which addresses are cached. Otherwise, each attempt
 * with a long timeout would begin with the same silent address, and never reach another one.
 */
const EGRESS_FAILED_MS = 300_000;
/**
 * Maximum number of concurrent DNS resolutions. A workspace (tenant) with n resolutions in progress
 * may begin another one only while more than n of the maximum are free. Its further requests wait.
 */
export const EGRESS_LOOKUPS_MAX = 256;
/** Maximum number of host names whose checked addresses are cached. */
const EGRESS_NAMES_MAX = 10_000;

/**
 * Error of a request that is not allowed: its URL, its headers or the addresses of its host break a
 * rule. Another attempt would be refused as well.
 */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
}

/**
 * Thrown when a DNS resolution does not begin, because the request that asked for it was aborted
 * while it waited for its turn. Other requests that wait for this resolution then ask for a new
 * one.
 */
class PermitAbandoned extends Error {}

interface CachedHost {
  addresses: string[];
  /** Time until which `addresses` may be used. */
  until: number;
  /**
   * Addresses to which a connection failed, in the order of their last failure. Maps each to the
   * time until which it comes last. All of them are in `addresses`.
   */
  failed: Map<string, number>;
}

interface CheckedAddressesOptions {
  rules: AddressRules;
  resolve: ResolveHost;
  /** Name of the setting that permits addresses in forbidden ranges. Error messages mention it. */
  setting: string;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  now?: () => number;
}

/**
 * Creates a resolver that checks the addresses of host names against `rules`, and caches permitted
 * ones. Callers must connect to a checked address, not to the name, whose DNS record may change
 * later (DNS rebinding).
 */
export function createCheckedAddresses(options: CheckedAddressesOptions) {
  const { rules, resolve, setting, now = Date.now } = options;
  const cache = new Map<string, CachedHost>();
  /**
   * DNS resolutions in progress, by workspace (`owner`) and host name. A resolution is not shared
   * between workspaces: it may have to wait because its own workspace has too many in progress.
   */
  const resolving = new Map<string, Promise<string[]>>();
  const resolutions = new FairSemaphore(EGRESS_LOOKUPS_MAX, fewerThanFree);

  async function lookUp(host: string, owner: string, signal: AbortSignal): Promise<string[]> {
    if (isIP(host) !== 0) return keep(host, { addresses: [host], seconds: 0 });
    using _permit = await resolutions.acquire(owner, signal).catch(() => {
      throw new PermitAbandoned();
    });
    return fresh(host) ?? keep(host, await resolve(host));
  }

  function fresh(host: string): string[] | undefined {
    const kept = cache.get(host);
    return kept !== undefined && kept.until > now() ? kept.addresses : undefined;
  }

  function keep(host: string, { addresses, seconds }: ResolvedAddresses): string[] {
    const allowed = permitted(addresses);
    const least = Math.max(seconds, EGRESS_RESOLVED_SECONDS_MIN);
    const failed = stillFailed(host, new Set(allowed));
    cache.delete(host);
    if (cache.size >= EGRESS_NAMES_MAX) cache.delete(cache.keys().next().value!);
    const until = now() + Math.min(least, EGRESS_RESOLVED_SECONDS_MAX) * 1_000;
    const ordered = withLast(allowed, failed);
    cache.set(host, { addresses: ordered, until, failed });
    return ordered;
  }

  /** Returns the entries of `failed` in the host's cache entry that still hold for `allowed`. */
  function stillFailed(host: string, allowed: ReadonlySet<string>): Map<string, number> {
    const entries = [...(cache.get(host)?.failed ?? [])];
    return new Map(entries.filter(([address, until]) => until > now() && allowed.has(address)));
  }

  function permitted(all: readonly string[]): string[] {
    const reasons = all.map((address) => rules.refusal(address));
    const allowed = all.filter((_, index) => reasons[index] === undefined);
    if (allowed.length > 0) return allowed;
    const reason = reasons[0] ?? "unknown";
    throw new EgressRefused(
      `Requests must not reach this address (${reason}) unless \`${setting}\` holds it`,
    );
  }

  return {
    /** Returns the cached addresses of a host; undefined when the host must be resolved first. */
    cached: fresh,
    /**
     * Resolves a host name, and returns those of its addresses that the address rules permit.
     * Rejects with `EgressRefused` when they permit none. The resolution counts toward the limit of
     * `owner`, the workspace (tenant).
     */
    async addresses(host: string, owner: string, signal: AbortSignal) {
      const key = `${owner} ${host}`;
      while (true) {
        const kept = fresh(host);
        if (kept !== undefined) return kept;
        const resolve = () => lookUp(host, owner, signal).finally(() => resolving.delete(key));
        try {
          return await resolving.getOrInsertComputed(key, resolve);
        } catch (error) {
          if (!(error instanceof PermitAbandoned)) throw error;
          signal.throwIfAborted();
        }
      }
    },
    /**
     * Moves an address to the end of the host's addresses for `EGRESS_FAILED_MS` milliseconds,
     * after a connection to the address failed. Does nothing if the address is not cached for the
     * host.
     */
    demote(host: string, address: string) {
      const kept = cache.get(host);
      if (!kept?.addresses.includes(address)) return;
      kept.failed.delete(address);
      kept.failed.set(address, now() + EGRESS_FAILED_MS);
      kept.addresses = withLast(kept.addresses, kept.failed);
    },
  };
}

/** Returns the addresses with those in `failed` at the end, in the order of `failed`. */
function withLast(addresses: readonly string[], failed: ReadonlyMap<string, number>): string[] {
  return [...addresses.filter((address) => !failed.has(address)), ...failed.keys()];
}
