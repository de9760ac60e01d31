import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Exchange } from "../http/connection.ts";
import { PEERS_REMEMBERED_MAX } from "../limits.ts";

/**
 * Tells a client's address: the peer's, or the first entry of `X-Forwarded-For` when the peer is
 * a trusted proxy (CIDRs). An entry that is no address is not believed.
 */
export function createClientAddress(
  trustedProxies: readonly string[],
): (request: Pick<Exchange, "peer" | "forwardedFor">) => string {
  const ranges = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  // Peers ask again and again, and parsing an address costs as much as half a request.
  const known = new Map<string, Peer>();

  function look(text: string): Peer {
    const address = parse(text);
    const trusted =
      address !== undefined &&
      ranges.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits));
    const peer = { address: address?.toString() ?? text, trusted };
    if (known.size >= PEERS_REMEMBERED_MAX) known.clear();
    known.set(text, peer);
    return peer;
  }

  return (request) => {
    const peer = known.get(request.peer) ?? look(request.peer);
    if (!peer.trusted) return peer.address;
    const first = request.forwardedFor().split(",", 1)[0]!.trim();
    return parse(first)?.toString() ?? peer.address;
  };
}

interface Peer {
  address: string;
  trusted: boolean;
}

/**
 * An IPv4 address that came in IPv6 clothes is an IPv4 address. One with a zone is none: a zone
 * counts on one machine alone, and has any length. Nor is `010.1`, which ipaddr.js would read.
 */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) !== 0 && !text.includes("%") ? ipaddr.process(text) : undefined;
}
