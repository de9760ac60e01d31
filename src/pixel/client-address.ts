import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Exchange } from "../http/connection.ts";
import { FORWARDED_HOPS_MAX } from "../limits.ts";

/** Peers whose address is remembered, with whether they are trusted; then all are forgotten. */
const PEERS_REMEMBERED_MAX = 4_096;

export interface ClientAddresses {
  /**
   * The address of a request's client: the peer's, or the last entry of `X-Forwarded-For` that is
   * no trusted proxy's when the peer is one. Proxies add what they saw at the end, so that only
   * entries behind a client's own are believed; an entry that is no address ends the walk.
   */
  of(request: Pick<Exchange, "peer" | "forwardedFor">): string;
  /**
   * What one client may have many addresses of: an IPv4 address, or the first half of an IPv6
   * one. Undefined for a trusted proxy.
   */
  networkOf(peer: string): string | undefined;
}

/** Tells clients' addresses behind trusted proxies (CIDRs). */
export function createClientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const ranges = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  // Peers ask again and again, and parsing an address costs as much as half a request.
  const known = new Map<string, Peer>();

  function look(text: string): Peer {
    const address = parse(text);
    const trusted =
      address !== undefined &&
      ranges.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits));
    const network = address === undefined ? text : networkText(address);
    const peer = { address: address?.toString() ?? text, network, trusted };
    if (known.size >= PEERS_REMEMBERED_MAX) known.clear();
    known.set(text, peer);
    return peer;
  }

  const peerOf = (text: string) => known.get(text) ?? look(text);

  return {
    of(request) {
      const peer = peerOf(request.peer);
      if (!peer.trusted) return peer.address;
      let { address } = peer;
      for (const entry of lastEntries(request.forwardedFor())) {
        const parsed = parse(withoutPort(entry));
        if (parsed === undefined) break;
        const hop = peerOf(parsed.toString());
        ({ address } = hop);
        if (!hop.trusted) break;
      }
      return address;
    },
    networkOf(text) {
      const { network, trusted } = peerOf(text);
      return trusted ? undefined : network;
    },
  };
}

interface Peer {
  address: string;
  network: string;
  trusted: boolean;
}

/** The entries of a list from its end on, as far as they are looked at. */
function* lastEntries(list: string): Generator<string> {
  let end = list.length;
  for (let hops = 0; hops < FORWARDED_HOPS_MAX && end >= 0; hops++) {
    const comma = end === 0 ? -1 : list.lastIndexOf(",", end - 1);
    yield list.slice(comma + 1, end).trim();
    end = comma;
  }
}

/** `1.2.3.4:80` and `[::1]:80` without the port and the brackets. */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*):\d+)$/.exec(entry) ?? [];
  return bracketed ?? plain ?? entry;
}

const NETWORK_PARTS = 4;

function networkText(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  if (address instanceof ipaddr.IPv6) return address.parts.slice(0, NETWORK_PARTS).join(":");
  return address.toString();
}

/**
 * An IPv4 address that came in IPv6 clothes is an IPv4 address. One with a zone is none: a zone
 * counts on one machine alone, and has any length. Nor is `010.1`, which ipaddr.js would read.
 */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) !== 0 && !text.includes("%") ? ipaddr.process(text) : undefined;
}
