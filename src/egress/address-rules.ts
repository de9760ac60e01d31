import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
type AddressRange = [IpAddress, number];

/**
 * Address ranges to which destinations must not connect, each with the reason: every range that
 * rudder-transformer, Svix or stripe/smokescreen refuses. Addresses are compared as bytes, because
 * one address can be written in many ways.
 */
const forbidden: { reason: string; ranges: AddressRange[] }[] = [
  entry("this network", "0.0.0.0/8", "::/128"),
  entry("loopback", "127.0.0.0/8", "::1/128"),
  entry("private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
  entry("shared by carriers", "100.64.0.0/10"),
  entry("link-local", "169.254.0.0/16", "fe80::/10"),
  entry("multicast", "224.0.0.0/4", "ff00::/8"),
  entry("documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"),
  entry("documentation", "3fff::/20"),
  entry("benchmarking", "198.18.0.0/15"),
  // These addresses look public, but are Azure's wire server and the internal network of IBM Cloud.
  // The metadata servers of other clouds are in other forbidden ranges: 169.254.169.254,
  // fd00:ec2::254, 100.100.100.200, 192.0.0.192.
  entry("the inside of a cloud", "168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14"),
  entry("reserved", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "100::/64", "5f00::/16"),
  // An address in these ranges contains an IPv4 address, to which a gateway may forward packets.
  entry("an embedded IPv4 address", "::/96", "64:ff9b::/96", "64:ff9b:1::/48"),
  entry("an embedded IPv4 address", "::ffff:0:0:0/96", "2001::/23", "2002::/16"),
];

function entry(reason: string, ...cidrs: string[]) {
  return { reason, ranges: cidrs.map((cidr) => ipaddr.parseCIDR(cidr)) };
}

export type AddressRules = ReturnType<typeof createAddressRules>;

/**
 * Creates address rules. Destinations may connect to an address in a forbidden range only if it is
 * in one of the CIDRs in `allow`. Throws when one of these CIDRs is malformed.
 */
export function createAddressRules(
  allow: readonly string[],
  ownAddresses: () => readonly string[] = interfaceAddresses,
) {
  const allowed = allow.map((cidr) => ipaddr.parseCIDR(cidr));
  const isAllowed = (address: IpAddress) => allowed.some((range) => within(address, range));
  const forbiddenReason = (address: IpAddress) =>
    forbidden.find(({ ranges }) => ranges.some((range) => within(address, range)))?.reason;

  return {
    /**
     * Returns why destinations are not allowed to connect to an address. Returns undefined if they
     * are allowed to. `text` is the address in any notation.
     */
    refusal(text: string) {
      const address = parse(text);
      if (address === undefined) return "not an IP address";
      if (isAllowed(address)) return undefined;
      const reason = forbiddenReason(address);
      if (reason !== undefined) return reason;
      const own = ownAddresses().some((mine) => parse(mine)?.toString() === address.toString());
      return own ? "an address of this machine" : undefined;
    },
    /**
     * Whether an address is in an allowed range, or in no forbidden range. Unlike in `refusal`,
     * this machine's own addresses do not count, so that the result for an address never changes.
     */
    allows(text: string) {
      const address = parse(text);
      if (address === undefined) return false;
      return isAllowed(address) || forbiddenReason(address) === undefined;
    },
  };
}

/**
 * Parses an address. Returns undefined if `text` is not an address. Converts an IPv4 address in
 * IPv6 notation (`::ffff:a.b.c.d`) to IPv4, so that the IPv4 ranges apply to it.
 */
function parse(text: string): IpAddress | undefined {
  // A zone (`fe80::1%eth0`) names a network interface. It is removed, because it does not change
  // the address.
  const bare = text.replace(/%.*/, "");
  return isIP(bare) === 0 ? undefined : ipaddr.process(bare);
}

function within(address: IpAddress, [network, bits]: AddressRange): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((own) => (own ?? []).map((i) => i.address));
}
