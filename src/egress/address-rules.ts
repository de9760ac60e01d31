import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

/**
 * Which addresses a destination may be at. The table is the union of what rudder-transformer,
 * Svix and stripe/smokescreen refuse; it is checked on parsed bytes, never on text, because an
 * address has many spellings.
 */
type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
type AddressRange = [IpAddress, number];

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
  // Public by their form: Azure's wire server, and the inside of IBM Cloud. Those of other clouds
  // are in the ranges above: 169.254.169.254, fd00:ec2::254, 100.100.100.200, 192.0.0.192.
  entry("the inside of a cloud", "168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14"),
  entry("reserved", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "100::/64", "5f00::/16"),
  // An IPv4 address hides in each of these; a gateway would carry us to it.
  entry("an embedded IPv4 address", "::/96", "64:ff9b::/96", "64:ff9b:1::/48"),
  entry("an embedded IPv4 address", "::ffff:0:0:0/96", "2001::/23", "2002::/16"),
];

function entry(reason: string, ...cidrs: string[]) {
  return { reason, ranges: cidrs.map((cidr) => ipaddr.parseCIDR(cidr)) };
}

export interface AddressRules {
  /** Why an address must not be reached, or undefined when it may. Takes any textual form. */
  refusal(address: string): string | undefined;
}

/** `allow`: CIDRs that may be reached although they are forbidden. Throws on a malformed one. */
export function createAddressRules(
  allow: readonly string[],
  ownAddresses: () => readonly string[] = interfaceAddresses,
): AddressRules {
  const allowed = allow.map((cidr) => ipaddr.parseCIDR(cidr));
  return {
    refusal(text) {
      const address = parse(text);
      if (address === undefined) return "not an IP address";
      if (allowed.some((range) => within(address, range))) return undefined;
      for (const { reason, ranges } of forbidden) {
        if (ranges.some((range) => within(address, range))) return reason;
      }
      const own = ownAddresses().some((mine) => parse(mine)?.toString() === address.toString());
      return own ? "an address of this machine" : undefined;
    },
  };
}

/** IPv4 in IPv6 (`::ffff:a.b.c.d`) becomes IPv4, so that one table serves both spellings. */
function parse(text: string): IpAddress | undefined {
  // A zone (`fe80::1%eth0`) names an interface, not another address.
  const bare = text.split("%", 1)[0] ?? "";
  return isIP(bare) === 0 ? undefined : ipaddr.process(bare);
}

function within(address: IpAddress, [network, bits]: AddressRange): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((own) => (own ?? []).map((i) => i.address));
}
