import { expect, test } from "bun:test";
import { createAddressRules } from "../../src/egress/address-rules.ts";

const rules = createAddressRules(["10.1.0.0/16"], () => ["8.8.8.8"]);

test.each([
  ["0.1.2.3", "this network"],
  ["::", "this network"],
  ["127.9.9.9", "loopback"],
  ["::1", "loopback"],
  ["172.20.0.1", "private"],
  ["fec0::1", "private"],
  ["100.99.0.1", "shared by carriers"],
  ["169.254.1.1", "link-local"],
  ["fe80::1%eth0", "link-local"],
  ["239.1.1.1", "multicast"],
  ["ff02::1", "multicast"],
  ["192.0.2.7", "documentation"],
  ["2001:db8::7", "documentation"],
  ["3fff:a::1", "documentation"],
  ["198.19.0.1", "benchmarking"],
  ["161.26.1.1", "the inside of a cloud"],
  ["240.0.0.1", "reserved"],
  ["5f00::1", "reserved"],
  ["64:ff9b::1.2.3.4", "an embedded IPv4 address"],
  ["2002:102:304::1", "an embedded IPv4 address"],
  ["8.8.8.8", "an address of this machine"],
  ["2606:4700::1111%eth0", undefined],
  ["10.1.2.3", undefined],
])("the reason why %s is refused is %p", (address, reason) => {
  expect(rules.refusal(address)).toBe(reason);
});

test("a socket may be opened to a public or an allowed address, and to nothing else", () => {
  const allowed = ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "10.1.2.3", "::ffff:10.1.2.3"];
  for (const address of allowed) expect([address, rules.allows(address)]).toEqual([address, true]);
  for (const address of ["10.2.0.1", "::1", "localhost", ""]) {
    expect([address, rules.allows(address)]).toEqual([address, false]);
  }
});
