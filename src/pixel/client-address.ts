import ipaddr from "ipaddr.js";

const PEERS_REMEMBERED_MAX = 1_024;

/**
 * Tells a client's address: the peer's, or the first entry of `X-Forwarded-For` when the peer is
 * a trusted proxy (CIDRs). An entry that is no address is not believed.
 */
export function createClientAddress(
  trustedProxies: readonly string[],
): (peer: string, forwardedFor: string | null) => string {
  const ranges = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  // A proxy is asked about again and again, and parsing an address costs microseconds.
  const trust = new Map<string, boolean>();

  function isTrusted(peer: string): boolean {
    const known = trust.get(peer);
    if (known !== undefined) return known;
    const address = parse(peer);
    const trusted =
      address !== undefined &&
      ranges.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits));
    if (trust.size >= PEERS_REMEMBERED_MAX) trust.clear();
    trust.set(peer, trusted);
    return trusted;
  }

  return (peer, forwardedFor) => {
    if (forwardedFor !== null && ranges.length > 0 && isTrusted(peer)) {
      const first = parse(forwardedFor.split(",", 1)[0]!.trim());
      if (first !== undefined) return first.toString();
    }
    return parse(peer)?.toString() ?? peer;
  };
}

/** An IPv4 address that came in IPv6 clothes is an IPv4 address. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}
