import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { HttpExchange } from "../http/exchange.ts";
import { FORWARDED_HOPS_MAX } from "../settings/limits.ts";

/** Peers remembered with their address and trust; one more clears them all. */
const PEERS_REMEMBERED_MAX = 4_096;

export interface ClientAddresses {
  /**
   * The address of a request's client: the peer's address or, when the peer is a trusted proxy, the
   * last entry of `X-Forwarded-For` that is not a trusted proxy's. Each proxy appends the address it
   * saw, so entries that a client forged stand before those that are believed. An entry that is no
   * address ends the search.
   */
  of(request: Pick<HttpExchange, "peer" | "forwardedFor">): string;
  /**
   * The network whose addresses may belong to one client: an IPv4 address, or the first half of an
   * IPv6 address. Undefined for a trusted proxy.
   */
  networkOf(peer: string): string | undefined;
}

/** Resolves clients' addresses behind trusted proxies (CIDRs). */
export function createClientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const ranges = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  // Parsing an address costs half as much as a request, and most requests come from known peers.
  const known = new Map<string, KnownPeer>();

  function resolve(text: string): KnownPeer {
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

  const peerOf = (text: string) => known.get(text) ?? resolve(text);

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

interface KnownPeer {
  address: string;
  network: string;
  trusted: boolean;
}

/** The last entries of a list, from its end on, at most `FORWARDED_HOPS_MAX`. */
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
 * Reads an address; an IPv4 address inside an IPv6 one (`::ffff:a.b.c.d`) counts as IPv4. An
 * address with a zone is refused, since a zone means something on one machine alone and has any
 * length; so is `010.1`, which ipaddr.js would read.
 */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) !== 0 && !text.includes("%") ? ipaddr.process(text) : undefined;
}
