import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { EGRESS_NAMES_MAX, EGRESS_RESOLVED_MS_MAX } from "../limits.ts";
import type { AddressRules } from "./address.ts";

/** All addresses of a host name, in the order of preference. */
export type Resolve = (host: string) => Promise<string[]>;

/** A policy refuses the request; another attempt would be refused as well. */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
}

export interface Names {
  /** Addresses of the host that may be reached; refuses when there is none. */
  addresses(host: string): Promise<string[]>;
  /** The address did not answer: the host's others come first next time. */
  demote(host: string, address: string): void;
}

export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map((found) => found.address);

/**
 * Host names to checked addresses, kept for a few seconds: at 1,000 requests a second a look-up
 * each would be the most expensive part. What is kept are checked addresses, and callers
 * connect to those, so a name that changes meanwhile (rebinding) gains nothing.
 */
export function createNames(rules: AddressRules, resolve: Resolve, now = Date.now): Names {
  const known = new Map<string, { addresses: string[]; until: number }>();
  /** One look-up a name at a time: a name server that hangs must not take all the threads. */
  const looking = new Map<string, Promise<string[]>>();

  async function look(host: string): Promise<string[]> {
    const addresses = await reachable(host);
    if (known.size >= EGRESS_NAMES_MAX) known.clear();
    known.set(host, { addresses, until: now() + EGRESS_RESOLVED_MS_MAX });
    return addresses;
  }

  async function reachable(host: string): Promise<string[]> {
    const all = isIP(host) === 0 ? await resolve(host) : [host];
    const reasons = all.map((address) => rules.refusal(address));
    const allowed = all.filter((_, index) => reasons[index] === undefined);
    if (allowed.length > 0) return allowed;
    const reason = reasons[0] ?? "unknown";
    throw new EgressRefused(
      `Destinations must not reach this address (${reason}) unless \`egress.allow\` holds it`,
    );
  }

  return {
    async addresses(host) {
      const kept = known.get(host);
      if (kept !== undefined && kept.until > now()) return kept.addresses;
      const looked = looking.get(host) ?? look(host).finally(() => looking.delete(host));
      looking.set(host, looked);
      return await looked;
    },
    demote(host, address) {
      const kept = known.get(host);
      if (kept === undefined) return;
      kept.addresses = [...kept.addresses.filter((other) => other !== address), address];
    },
  };
}
