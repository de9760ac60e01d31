import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { createAddressRules } from "../../src/egress/address-rules.ts";
import { createCheckedAddresses, EGRESS_LOOKUPS_MAX } from "../../src/egress/checked-addresses.ts";
import { checkedHost } from "../../src/egress/connect.ts";
import type { ResolvedAddresses, ResolveHost } from "../../src/egress/dns/dns-resolver.ts";
import { createEgress, EgressRefused } from "../../src/egress/egress.ts";
import { until } from "../until.ts";
import { ask, failureOf, finding, ok, requestTo } from "./request-client.ts";
import { RawSink } from "./sink.ts";

const { signal } = new AbortController();
const namesOf = (allow: string[], resolve: ResolveHost, now?: () => number) =>
  createCheckedAddresses({
    rules: createAddressRules(allow, () => []),
    resolve,
    setting: "egress.allow",
    ...(now && { now }),
  });

/** Addresses of a name, forbidden ones and others; a test allows 127.0.0.2. */
const mixed = [
  "127.0.0.1",
  "1.1.1.1",
  "10.0.0.1",
  "::1",
  "127.0.0.2",
  "fd00::1",
  "169.254.169.254",
].concat("2606:4700::1111", "::ffff:10.0.0.1", "192.168.0.1");

test("a finished request removes its listener from the caller's signal", async () => {
  const sink = new RawSink((socket) => void socket.write(ok));
  const port = await sink.listen();
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const request = requestTo(`http://127.0.0.1:${port}/`);
  for (let n = 0; n < 3; n++) await egress.request(request);
  const { workspaceId, timeoutMs, signal } = request;
  const socket = await egress.connect({ workspaceId, host: "127.0.0.1", port, timeoutMs, signal });
  socket.destroy();
  await failureOf(egress.request({ ...request, url: "http://10.0.0.1/" }));
  expect(getEventListeners(signal, "abort")).toEqual([]);
  egress.close();
  sink.close();
});

describe("names", () => {
  const resolving = (...answers: string[][]) => {
    let asked = 0;
    return {
      asked: () => asked,
      resolve: async () => ({
        addresses: answers[Math.min(asked++, answers.length - 1)]!,
        seconds: 5,
      }),
    };
  };

  test("a name that rebinds to a forbidden address is connected to the checked address", async () => {
    const allowed = new RawSink((socket) => void socket.write(ok));
    const port = await allowed.listen("127.0.0.2");
    const forbidden = new RawSink((socket) => void socket.write(ok));
    await forbidden.listen("127.0.0.1");
    const names = resolving(["127.0.0.2"], ["127.0.0.1"]);
    const options = { allow: ["127.0.0.2/32"], resolve: names.resolve };
    expect((await ask(`http://rebind.test:${port}/`, options)).status).toBe(200);
    expect(allowed.requests[0]).toMatch(new RegExp(`\r\nHost: rebind.test:${port}\r\n`, "i"));
    expect(names.asked()).toBe(1);
    expect(forbidden.connections).toBe(0);
    allowed.close();
    forbidden.close();
  });

  test("a name that has become forbidden is refused, even if an idle connection exists", async () => {
    const sink = new RawSink((socket) => void socket.write(ok));
    const port = await sink.listen("127.0.0.2");
    const names = resolving(["127.0.0.2"], ["127.0.0.1"]);
    let now = 0;
    const kept = namesOf(["127.0.0.2/32"], names.resolve, () => now);
    expect(await kept.addresses("rebind.test", "w", signal)).toEqual(["127.0.0.2"]);
    now += 4_000;
    expect(await kept.addresses("rebind.test", "w", signal)).toEqual(["127.0.0.2"]);
    now += 4_000;
    expect(await failureOf(kept.addresses("rebind.test", "w", signal))).toBeInstanceOf(
      EgressRefused,
    );
    expect(port).toBeGreaterThan(0);
    sink.close();
  });

  test("only the allowed ones of several addresses are returned, cached and kept after a failure", async () => {
    const names = namesOf(["127.0.0.2/32"], finding(...mixed));
    const allowed = ["1.1.1.1", "127.0.0.2", "2606:4700::1111"];
    expect(await names.addresses("mixed.test", "w", signal)).toEqual(allowed);
    expect(names.cached("mixed.test")).toEqual(allowed);
    names.demote("mixed.test", "1.1.1.1");
    expect(names.cached("mixed.test")).toEqual([...allowed.slice(1), "1.1.1.1"]);
  });

  test("an address that the name has lost is not connected to again when a connection to it fails", async () => {
    const { resolve } = resolving(["1.1.1.1"], ["1.0.0.1"]);
    let now = 0;
    const names = namesOf([], resolve, () => now);
    expect(await names.addresses("moved.test", "w", signal)).toEqual(["1.1.1.1"]);
    now += 5_000;
    expect(await names.addresses("moved.test", "w", signal)).toEqual(["1.0.0.1"]);
    names.demote("moved.test", "1.1.1.1");
    expect(names.cached("moved.test")).toEqual(["1.0.0.1"]);
  });

  test("only the allowed ones of several addresses are connected to", async () => {
    // The forbidden address comes first and listens at the same port.
    const canary = new RawSink((socket) => void socket.write(ok));
    const port = await canary.listen("127.0.0.1");
    const sink = new RawSink((socket) => void socket.write(ok));
    await sink.listen("127.0.0.2", port);
    const egress = createEgress({
      allow: ["127.0.0.2/32"],
      resolve: finding("127.0.0.1", "::1", "127.0.0.2"),
    });
    const request = requestTo(`http://mixed.test:${port}/`);
    expect((await egress.request(request)).status).toBe(200);
    const { workspaceId, timeoutMs } = request;
    const to = { workspaceId, host: "mixed.test", port, timeoutMs, signal };
    (await egress.connect(to)).destroy();
    expect([sink.connections, canary.connections]).toEqual([2, 0]);
    egress.close();
    canary.close();
    sink.close();
  });

  test("an address that refuses connections is skipped, and comes last afterwards", async () => {
    const sink = new RawSink((socket) => void socket.write(ok));
    const port = await sink.listen("127.0.0.3");
    const resolve = finding("127.0.0.2", "127.0.0.3");
    const names = namesOf(["127.0.0.0/8"], resolve);
    names.demote("two.test", "127.0.0.2");
    expect(await names.addresses("two.test", "w", signal)).toEqual(["127.0.0.2", "127.0.0.3"]);
    names.demote("two.test", "127.0.0.2");
    expect(await names.addresses("two.test", "w", signal)).toEqual(["127.0.0.3", "127.0.0.2"]);
    const answer = await ask(`http://two.test:${port}/`, { allow: ["127.0.0.0/8"], resolve });
    expect(answer.status).toBe(200);
    sink.close();
  });

  test("an address whose connection failed comes last for five minutes, however often the name is resolved", async () => {
    let now = 0;
    let found = ["1.1.1.1", "1.0.0.1", "9.9.9.9"];
    const names = namesOf(
      [],
      (host) => finding(...found)(host),
      () => now,
    );
    const addresses = () => names.addresses("three.test", "w", signal);
    expect(await addresses()).toEqual(found);
    names.demote("three.test", "1.1.1.1");
    for (now of [60_000, 120_000, 299_999]) {
      expect(await addresses()).toEqual(["1.0.0.1", "9.9.9.9", "1.1.1.1"]);
    }
    now = 360_000;
    expect(await addresses()).toEqual(found);
    // Failed addresses come in the order of their last failure.
    for (const address of ["9.9.9.9", "1.1.1.1", "1.0.0.1", "9.9.9.9"]) {
      names.demote("three.test", address);
      now += 1;
    }
    now += 60_000;
    expect(await addresses()).toEqual(["1.1.1.1", "1.0.0.1", "9.9.9.9"]);
    // An address that the name has lost is forgotten.
    found = ["1.1.1.1", "9.9.9.9"];
    now += 60_000;
    expect(await addresses()).toEqual(found);
    found = ["1.0.0.1", "1.1.1.1", "9.9.9.9"];
    now += 60_000;
    expect(await addresses()).toEqual(found);
  });

  test("an address that never answers comes last the next time", async () => {
    const sink = new RawSink((socket) => {
      if (socket.localAddress !== "127.0.0.2") socket.write(ok);
    });
    const port = await sink.listen("0.0.0.0");
    const resolve = finding("127.0.0.2", "127.0.0.3");
    const egress = createEgress({ allow: ["127.0.0.0/8"], resolve });
    let status: number | undefined;
    // The first attempt is spent on the silent address; on a busy machine a second one may be.
    for (let attempt = 0; status === undefined && attempt < 20; attempt++) {
      const request = { ...requestTo(`http://two.test:${port}/`), timeoutMs: 500 };
      ({ status } = await egress.request(request).catch(() => ({ status: undefined })));
    }
    expect(status).toBe(200);
    egress.close();
    sink.close();
  });

  test("a name without an address, or with a malformed one, is refused", async () => {
    for (const [found, reason] of [
      [[], "unknown"],
      [["rubbish"], "not an IP address"],
    ] as const) {
      const error = await failureOf(ask("http://odd.test/", { resolve: finding(...found) }));
      expect(error).toBeInstanceOf(EgressRefused);
      expect(String(error)).toContain(`address (${reason}) unless`);
    }
  });

  test("concurrent requests resolve a name once, and a failure is not cached", async () => {
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      await Bun.sleep(5);
      if (asked === 1) throw new Error("SERVFAIL");
      return { addresses: ["1.1.1.1"], seconds: 5 };
    };
    const names = namesOf([], resolve);
    const ask = () =>
      Promise.allSettled([1, 2, 3].map(() => names.addresses("once.test", "w", signal)));
    expect((await ask()).every(({ status }) => status === "rejected")).toBe(true);
    expect((await ask()).every(({ status }) => status === "fulfilled")).toBe(true);
    expect(asked).toBe(2);
  });

  test("the 10,000 most recently resolved names are cached", async () => {
    let asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      return { addresses: ["1.1.1.1"], seconds: 5 };
    };
    const names = namesOf([], resolve, () => 0);
    const find = (n: number) => names.addresses(`${n}.test`, "w", signal);
    for (let n = 0; n <= 10_000; n++) await find(n);
    asked = [];
    for (let n = 1; n <= 10_000; n++) await find(n);
    expect(asked).toEqual([]);
    await find(0);
    expect(asked).toEqual(["0.test"]);
  });

  test("a name that is resolved again takes the place of no other name", async () => {
    const resolve = async (name: string) => ({
      addresses: ["1.1.1.1"],
      seconds: name === "5.test" ? 1 : 30,
    });
    let now = 0;
    const names = namesOf([], resolve, () => now);
    const find = (n: number) => names.addresses(`${n}.test`, "w", signal);
    for (let n = 0; n < 10_000; n++) await find(n);
    now = 1_000;
    await find(5);
    expect(names.cached("0.test")).toBeDefined();
    await find(10_000);
    expect(names.cached("0.test")).toBeUndefined();
    expect(names.cached("1.test")).toBeDefined();
  });

  test("an address needs no resolver, and is checked again after a second", async () => {
    let now = 0;
    const resolve = () => Promise.reject(new Error("Expected no name"));
    const names = namesOf([], resolve, () => now);
    expect(await names.addresses("1.1.1.1", "w", signal)).toEqual(["1.1.1.1"]);
    now = 999;
    expect(names.cached("1.1.1.1")).toEqual(["1.1.1.1"]);
    now = 1_000;
    expect(names.cached("1.1.1.1")).toBeUndefined();
  });

  test("a resolution that never ends is aborted at the timeout", async () => {
    const egress = createEgress({ allow: [], resolve: () => new Promise(() => {}) });
    const request = { ...requestTo("http://slow.test/"), timeoutMs: 50 };
    expect(await failureOf(egress.request(request))).toEqual(
      new Error("No address of the name within 50 ms"),
    );
    egress.close();
  });

  test("a refusal names the setting that would allow the address", async () => {
    const asked = ask("http://127.0.0.1/", { allowSetting: "sandbox.fetch.allow" });
    expect(String(await failureOf(asked))).toContain("unless `sandbox.fetch.allow` holds it");
    expect(String(await failureOf(ask("http://127.0.0.1/")))).toContain("`egress.allow`");
  });

  test.each([
    { what: "as long as its records hold", seconds: 10, until: 10 },
    { what: "not for ever", seconds: 86_400, until: 30 },
    { what: "at least a second", seconds: 0, until: 1 },
  ])("an address is used $what", async ({ seconds, until }) => {
    let asked = 0;
    let now = 0;
    const resolve = async () => {
      asked += 1;
      return { addresses: ["1.1.1.1"], seconds };
    };
    const names = namesOf([], resolve, () => now);
    for (now of [0, until * 1_000 - 1]) await names.addresses("kept.test", "w", signal);
    expect(asked).toBe(1);
    now = until * 1_000;
    await names.addresses("kept.test", "w", signal);
    expect(asked).toBe(2);
  });

  test("hanging resolutions of one workspace do not delay another", async () => {
    const hanging: ((found: ResolvedAddresses) => void)[] = [];
    const names = namesOf([], (host) =>
      host.startsWith("hangs")
        ? new Promise((resolve) => hanging.push(resolve))
        : finding("1.1.1.1")(host),
    );
    const asked = Array.from({ length: 2 * EGRESS_LOOKUPS_MAX }, (_, n) =>
      names.addresses(`hangs-${n}.test`, "hostile", signal),
    );
    await until(() => hanging.length >= EGRESS_LOOKUPS_MAX / 2);
    expect(hanging.length).toBe(EGRESS_LOOKUPS_MAX / 2);
    expect(await names.addresses("good.test", "other", signal)).toEqual(["1.1.1.1"]);
    // The name that another workspace has to wait for is looked up for this one.
    const wanted = `hangs-${2 * EGRESS_LOOKUPS_MAX - 1}.test`;
    const found = names.addresses(wanted, "other", signal);
    await Bun.sleep(1);
    hanging.at(-1)!({ addresses: ["2.2.2.2"], seconds: 9 });
    expect(await found).toEqual(["2.2.2.2"]);
    while (hanging.length > 0) {
      hanging.shift()!({ addresses: ["1.1.1.1"], seconds: 9 });
      await Bun.sleep(0);
    }
    expect((await Promise.all(asked)).at(-1)).toEqual(["2.2.2.2"]);
  });

  test("a request that is aborted while it waits for a permit does not fail others for the same name", async () => {
    const hanging: ((found: ResolvedAddresses) => void)[] = [];
    const names = namesOf([], () => new Promise((resolve) => hanging.push(resolve)));
    const asked = Array.from({ length: EGRESS_LOOKUPS_MAX / 2 }, (_, n) =>
      names.addresses(`hangs-${n}.test`, "w", signal),
    );
    const impatient = new AbortController();
    const gone = failureOf(names.addresses("late.test", "w", impatient.signal));
    const stays = names.addresses("late.test", "w", signal);
    await Bun.sleep(1);
    impatient.abort(new Error("Out of time"));
    expect(await gone).toEqual(new Error("Out of time"));
    for (let n = 0; n <= asked.length; n++) {
      hanging[n]!({ addresses: [`1.1.1.${n}`], seconds: 9 });
      await Bun.sleep(0);
    }
    expect(await stays).toEqual([`1.1.1.${asked.length}`]);
    await Promise.all(asked);
  });
});

test.each([
  ["Example.COM", "example.com"],
  ["::1", "::1"],
  ["0:0:0:0:0:0:0:1", "::1"],
  ["[::1]", "::1"],
  ["127.1", "127.0.0.1"],
])("the host %s is %s, whatever its notation", (text, host) => {
  expect(checkedHost(text)).toBe(host);
});

test.each(["a:1", "[::1]:80", "a/b", "u@a", "a b", ""])("%p is no host", (text) => {
  expect(() => checkedHost(text)).toThrow("Expected a host name or an address, without a port");
});
