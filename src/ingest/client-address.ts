import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { HttpExchange } from "../http/exchange.ts";
import { remembered } from "../remembered.ts";
import { FORWARDED_HOPS_MAX } from "../settings/limits.ts";

/** Maximum number of connection peers whose parsed address is cached. */
const PEERS_REMEMBERED_MAX = 4_096;

export type ClientAddresses = ReturnType<typeof createClientAddresses>;

/**
 * Creates the functions that find the IP address and the network of a request's client.
 * `trustedProxies` lists the CIDRs of proxies whose `X-Forwarded-For` header is trusted.
 */
export function createClientAddresses(trustedProxies: readonly string[]) {
  const ranges = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  // Parsing an address costs half as much as handling a request, and most requests come from known
  // peers. So results are cached.
  const peerOf = remembered(PEERS_REMEMBERED_MAX, (text: string) => {
    const address = parse(text);
    const trusted =
      address !== undefined &&
      ranges.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits));
    const network = address === undefined ? text : networkText(address);
    return { address: address?.toString() ?? text, network, trusted };
  });

  return {
    /**
     * Returns the IP address of a request's client. This is the peer's address or, if the peer is a
     * trusted proxy, the last address in `X-Forwarded-For` that is not a trusted proxy's, because
     * clients can forge earlier entries.
     *
     * Only the last `FORWARDED_HOPS_MAX` entries are read, backwards and up to an invalid one. If
     * all are trusted proxies', returns the one read last; if none is read, the peer's address.
     */
    of(request: Pick<HttpExchange, "peer" | "header">) {
      const peer = peerOf(request.peer);
      if (!peer.trusted) return peer.address;
      let { address } = peer;
      for (const entry of lastEntries(request.header("x-forwarded-for") ?? "")) {
        const parsed = parse(withoutPort(entry));
        if (parsed === undefined) break;
        const hop = peerOf(parsed.toString());
        ({ address } = hop);
        if (!hop.trusted) break;
      }
      return address;
    },
    /**
     * Returns the network of a peer: its IPv4 address, or the first 64 bits of its IPv6 address,
     * because one client may use all addresses with these bits. Returns undefined for a trusted
     * proxy.
     */
    networkOf(text: string) {
      const { network, trusted } = peerOf(text);
      return trusted ? undefined : network;
    },
  };
}

/**
 * Yields at most `FORWARDED_HOPS_MAX` entries of a comma-separated list, beginning with the last.
 */
function* lastEntries(list: string): Generator<string> {
  let end = list.length;
  for (let hops = 0; hops < FORWARDED_HOPS_MAX && end > 0; hops++) {
    const comma = list.lastIndexOf(",", end - 1);
    yield list.slice(comma + 1, end).trim();
    end = comma;
  }
}

/** Removes port and brackets from an address: `1.2.3.4:80` → `1.2.3.4`, `[::1]:80` → `::1`. */
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
 * Parses an IP address; `::ffff:a.b.c.d` becomes IPv4. Returns undefined for any other text, for
 * short forms such as `010.1`, and for an address with a zone (`fe80::1%eth0`).
 */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) !== 0 && !text.includes("%") ? ipaddr.process(text) : undefined;
}
