import { isIP } from "node:net";
import { FairSemaphore, fewerThanFree } from "../concurrency/fair-semaphore.ts";
import type { AddressRules } from "./address-rules.ts";
import type { ResolvedAddresses, ResolveHost } from "./dns-resolver.ts";

/**
 * Longest time that checked addresses of a host name are used, although its records are valid for
 * longer.
 */
const EGRESS_RESOLVED_SECONDS_MAX = 30;
/** Time that checked addresses of a host name are used, although its records are valid for less. */
const EGRESS_RESOLVED_SECONDS_MIN = 1;
/**
 * Look-ups under way. A workspace gets as many as are left for others; beyond that its look-ups
 * wait.
 */
export const EGRESS_LOOKUPS_MAX = 256;
/** Host names whose checked addresses are remembered. */
const EGRESS_NAMES_MAX = 10_000;

/** A policy refuses the request; another attempt would be refused as well. */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
}

/** The request that waited for a permit has ended; other requests may still wait for the name. */
class PermitGivenUp extends Error {}

export interface CheckedAddresses {
  /** The addresses, when nothing has to be looked up. */
  cached(host: string): string[] | undefined;
  /** Addresses of the host that may be reached; refuses when there is none. */
  addresses(host: string, owner: string, signal: AbortSignal): Promise<string[]>;
  /** The address did not answer: the host's other addresses come first the next time. */
  demote(host: string, address: string): void;
}

export interface CheckedAddressesOptions {
  rules: AddressRules;
  resolve: ResolveHost;
  /** The setting that would let a refused address be reached. */
  setting: string;
  /** Milliseconds. */
  now?: () => number;
}

/**
 * Finds the checked addresses of host names, and keeps them as long as they are valid: at 1,000
 * requests a second, a look-up for each would be the most expensive part. Callers connect to the
 * checked addresses themselves, so a name that changes meanwhile (rebinding) gains nothing.
 */
export function createCheckedAddresses({
  rules,
  resolve,
  setting,
  now = Date.now,
}: CheckedAddressesOptions): CheckedAddresses {
  const known = new Map<string, { addresses: string[]; until: number }>();
  /** Look-ups under way, by owner and name, so that no workspace waits for another's place. */
  const looking = new Map<string, Promise<string[]>>();
  const lookUps = new FairSemaphore(EGRESS_LOOKUPS_MAX, fewerThanFree);

  async function look(host: string, owner: string, signal: AbortSignal): Promise<string[]> {
    if (isIP(host) !== 0) return keep(host, { addresses: [host], seconds: 0 });
    using _permit = await lookUps.acquire(owner, signal).catch(() => {
      throw new PermitGivenUp();
    });
    return fresh(host) ?? keep(host, await resolve(host));
  }

  function fresh(host: string): string[] | undefined {
    const kept = known.get(host);
    return kept !== undefined && kept.until > now() ? kept.addresses : undefined;
  }

  function keep(host: string, { addresses, seconds }: ResolvedAddresses): string[] {
    const allowed = permitted(addresses);
    const least = Math.max(seconds, EGRESS_RESOLVED_SECONDS_MIN);
    known.delete(host);
    if (known.size >= EGRESS_NAMES_MAX) known.delete(known.keys().next().value!);
    const until = now() + Math.min(least, EGRESS_RESOLVED_SECONDS_MAX) * 1_000;
    known.set(host, { addresses: allowed, until });
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
        const looked =
          looking.get(key) ?? look(host, owner, signal).finally(() => looking.delete(key));
        looking.set(key, looked);
        try {
          return await looked;
        } catch (error) {
          if (!(error instanceof PermitGivenUp)) throw error;
          signal.throwIfAborted();
        }
      }
    },
    demote(host, address) {
      const kept = known.get(host);
      if (kept === undefined) return;
      kept.addresses = [...kept.addresses.filter((other) => other !== address), address];
    },
  };
}
