import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { createClientAddresses } from "../../src/ingest/client-address.ts";
import { FORWARDED_HOPS_MAX } from "../../src/settings/limits.ts";
import { get, openListener, send, WRITE_KEY } from "./harness.ts";

test("X-Forwarded-For counts only from a trusted proxy", () => {
  const clients = createClientAddresses(["10.0.0.0/8", "fd00::/8"]);
  for (const [peer, forwarded, expected] of [
    ["10.1.2.3", "203.0.113.9", "203.0.113.9"],
    ["10.1.2.3", " 203.0.113.9 , 10.0.0.1", "203.0.113.9"],
    ["10.1.2.3", "2001:DB8::1", "2001:db8::1"],
    ["::ffff:10.1.2.3", "203.0.113.9", "203.0.113.9"],
    ["fd00::1", "::ffff:203.0.113.9", "203.0.113.9"],
    ["10.1.2.3", "", "10.1.2.3"],
    ["10.1.2.3", "203.0.113.9, unknown", "10.1.2.3"],
    ["10.1.2.3", "unknown, 203.0.113.9", "203.0.113.9"],
    ["10.1.2.3", "unknown, 10.9.9.9", "10.9.9.9"],
    // A client's own entries stand before what proxies add.
    ["10.1.2.3", "6.6.6.6, 203.0.113.9", "203.0.113.9"],
    ["10.1.2.3", "6.6.6.6, 203.0.113.9, 10.7.7.7, fd00::7", "203.0.113.9"],
    ["10.1.2.3", "10.0.0.1, 10.0.0.2", "10.0.0.1"],
    ["10.1.2.3", "203.0.113.9:4711", "203.0.113.9"],
    ["10.1.2.3", "[2001:db8::1]:4711", "2001:db8::1"],
    ["10.1.2.3", "[2001:db8::1]", "2001:db8::1"],
    ["10.1.2.3", "6.6.6.6, 203.0.113.9:1, [fd00::7]:2, 10.0.0.1:3", "203.0.113.9"],
    ["10.1.2.3", "[203.0.113.9", "10.1.2.3"],
    ["10.1.2.3", "203.0.113.9:", "10.1.2.3"],
    ["10.1.2.3", ",", "10.1.2.3"],
    ["10.1.2.3", ",203.0.113.9", "203.0.113.9"],
    ["10.1.2.3", ",10.0.0.1", "10.0.0.1"],
    ["10.1.2.3", `203.0.113.9${", 10.0.0.1".repeat(FORWARDED_HOPS_MAX - 1)}`, "203.0.113.9"],
    ["10.1.2.3", `203.0.113.9${", 10.0.0.1".repeat(FORWARDED_HOPS_MAX)}`, "10.0.0.1"],
    ["10.1.2.3", `203.0.113.9${", 10.0.0.1".repeat(20_000)}`, "10.0.0.1"],
    ["10.1.2.3", '"><script>', "10.1.2.3"],
    ["10.1.2.3", "fe80::1%eth0", "10.1.2.3"],
    ["10.1.2.3", `203.0.113.9, fe80::1%${"a".repeat(300)}`, "10.1.2.3"],
    ["10.1.2.3", "1", "10.1.2.3"],
    ["10.1.2.3", "010.1.1.1", "10.1.2.3"],
    ["192.0.2.1", "203.0.113.9", "192.0.2.1"],
    ["::ffff:192.0.2.1", "203.0.113.9", "192.0.2.1"],
    ["", "", ""],
  ] as const) {
    expect(clients.of({ peer, header: () => forwarded })).toBe(expected);
  }
});

test("X-Forwarded-For is ignored without trusted proxies", () => {
  const request = { peer: "127.0.0.1", header: () => "203.0.113.9" };
  expect(createClientAddresses([]).of(request)).toBe("127.0.0.1");
});

test("the number of remembered peers is bounded", () => {
  const clients = createClientAddresses([]);
  const visit = (network: number) => {
    for (let n = 0; n < 50_000; n++) clients.networkOf(`10.${network}.${n >> 8}.${n & 255}`);
    Bun.gc(true);
    return heapStats().objectCount;
  };
  const before = visit(1);
  expect(visit(2) - before).toBeLessThan(10_000);
});

test("connections count for an IPv4 address or half of an IPv6 address, but not for a proxy", () => {
  const { networkOf } = createClientAddresses(["10.0.0.0/8"]);
  expect(networkOf("192.0.2.1")).toBe("192.0.2.1");
  expect(networkOf("::ffff:192.0.2.1")).toBe("192.0.2.1");
  expect(networkOf("2001:db8:0:1::1")).toBe(networkOf("2001:db8:0:1:ffff::2"));
  for (const other of ["2001:db8:0:2::1", "2002:db8:0:1::1"]) {
    expect(networkOf("2001:db8:0:1::1")).not.toBe(networkOf(other));
  }
  expect(networkOf("10.1.2.3")).toBeUndefined();
});

const TARGET = `/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;

test("the event carries the forwarded address, or none when addresses are not recorded", async () => {
  for (const [recordClientAddress, expected] of [
    [true, "203.0.113.9"],
    [false, undefined],
  ] as const) {
    const server = openListener({ trustedProxies: ["127.0.0.0/8"], recordClientAddress });
    await send(server.port, get(TARGET, "X-Forwarded-For: 203.0.113.9, 127.0.0.1\r\n"));
    expect(server.events()[0]!.request_ip).toBe(expected);
    await server.stop();
  }
});
