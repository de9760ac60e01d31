import { isIP } from "node:net";
import { FairSemaphore, fewerThanFree } from "../concurrency/fair-semaphore.ts";
import type { AddressRules } from "./address-rules.ts";
import type { ResolvedAddresses, ResolveHost } from "./dns-resolver.ts";

/** Longest time that checked addresses of a host name are used, whatever the TTL of its records. */
const EGRESS_RESOLVED_SECONDS_MAX = 30;
/** Shortest time that checked addresses of a host name are used, whatever the TTL of its records. */
const EGRESS_RESOLVED_SECONDS_MIN = 1;
/** Concurrent DNS resolutions. A workspace gets as many as it leaves to others; the rest wait. */
export const EGRESS_LOOKUPS_MAX = 256;
/** Host names whose checked addresses are cached. */
const EGRESS_NAMES_MAX = 10_000;

/** The egress policy refuses the request; another attempt would be refused as well. */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
}

/** The request that waited for the permit has ended; others may still wait for the same name. */
class PermitAbandoned extends Error {}

export interface CheckedAddresses {
  /** The cached addresses; undefined when the host has to be resolved. */
  cached(host: string): string[] | undefined;
  /** The addresses of the host that the rules allow; rejects with `EgressRefused` if there is none. */
  addresses(host: string, owner: string, signal: AbortSignal): Promise<string[]>;
  /** Moves an address that could not be connected to behind the other addresses of the host. */
  demote(host: string, address: string): void;
}

export interface CheckedAddressesOptions {
  rules: AddressRules;
  resolve: ResolveHost;
  /** The setting that allows refused addresses, for error messages. */
  setting: string;
  /** The clock, in milliseconds. */
  now?: () => number;
}

/**
 * Resolves host names, checks their addresses and caches them while they are valid: at 1,000
 * requests a second, resolving the name for each would be the most expensive part. Callers connect
 * to the checked addresses, so that a name that changes meanwhile (DNS rebinding) has no effect.
 */
export function createCheckedAddresses({
  rules,
  resolve,
  setting,
  now = Date.now,
}: CheckedAddressesOptions): CheckedAddresses {
  const cache = new Map<string, { addresses: string[]; until: number }>();
  /** Resolutions under way by owner and name: no workspace waits for a permit of another one. */
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
    cache.delete(host);
    if (cache.size >= EGRESS_NAMES_MAX) cache.delete(cache.keys().next().value!);
    const until = now() + Math.min(least, EGRESS_RESOLVED_SECONDS_MAX) * 1_000;
    cache.set(host, { addresses: allowed, until });
    return allowed;
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
    cached: fresh,
    async addresses(host, owner, signal) {
      const key = `${owner} ${host}`;
      while (true) {
        const kept = fresh(host);
        if (kept !== undefined) return kept;
        const addresses =
          resolving.get(key) ?? lookUp(host, owner, signal).finally(() => resolving.delete(key));
        resolving.set(key, addresses);
        try {
          return await addresses;
        } catch (error) {
          if (!(error instanceof PermitAbandoned)) throw error;
          signal.throwIfAborted();
        }
      }
    },
    demote(host, address) {
      const kept = cache.get(host);
      if (kept === undefined) return;
      kept.addresses = [...kept.addresses.filter((other) => other !== address), address];
    },
  };
}
