import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createResolver, ResolutionFailed } from "../../src/egress/dns/dns-resolver.ts";
import { parseHosts } from "../../src/egress/dns/resolver-files.ts";
import { EGRESS_LOOKUP_MS_MAX } from "../../src/egress/limits.ts";
import { NameServer, type Zone } from "./name-server.ts";
import { ask, failureOf, ok } from "./request-client.ts";
import { RawSink } from "./sink.ts";

const six = "2606:4700:0:0:0:0:0:1111";
const zones: Record<string, Zone> = {
  "both.test": { four: ["1.1.1.1", "1.1.1.2"], six: [six], ttl: 7 },
  "four.test": { four: ["1.1.1.1"] },
  "six.test": { six: [six] },
  "half.test": { four: ["1.1.1.1"], silent: "six" },
  "alias.test": { alias: "both.test", four: ["1.1.1.1"], six: [six] },
  "lossy.test": { four: ["1.1.1.6"], lost: 1 },
  "local.test": { four: ["127.0.0.1"] },
  "bare.corp.test": { four: ["1.1.1.3"] },
  "a.b.corp.test": { four: ["1.1.1.4"] },
  "broken.corp.test": { code: 2 },
  broken: { four: ["1.1.1.5"] },
  "empty.test": {},
  "failing.test": { code: 2 },
  "refusing.test": { code: 5 },
  "silent.test": { silent: true },
};
for (let n = 0; n < 64; n++) zones[`hangs-${n}.test`] = { silent: true };

const directory = mkdtempSync(join(tmpdir(), "pixelmill-names-"));
const resolverFile = join(directory, "resolv.conf");
const hostsFile = join(directory, "hosts");
const server = new NameServer(zones);
let servers: string[];
/** Names of which nothing comes at first: their silence is waited for, who answers has its time. */
const QUIET = ["silent.test", "lossy.test"];
function lookUp(host: string, tryMs = QUIET.includes(host) ? 500 : 20_000) {
  const sixMs = host === "half.test" ? 50 : tryMs;
  return createResolver({ servers, resolverFile, hostsFile, tryMs, sixMs })(host);
}

beforeAll(async () => {
  await Bun.write(resolverFile, "nameserver 192.0.2.1\nsearch corp.test other.test\n");
  await Bun.write(hostsFile, "10.0.0.9 listed.test listed\nfd00::9 listed.test\n");
  servers = [await server.listen()];
});
afterAll(() => {
  server.close();
  rmSync(directory, { recursive: true });
});

describe("a name is resolved", () => {
  test.each([
    ["both.test", ["1.1.1.1", "1.1.1.2", "2606:4700::1111"]],
    ["BOTH.Test", ["1.1.1.1", "1.1.1.2", "2606:4700::1111"]],
    ["both.test.", ["1.1.1.1", "1.1.1.2", "2606:4700::1111"]],
    ["four.test", ["1.1.1.1"]],
    ["six.test", ["2606:4700::1111"]],
    ["half.test", ["1.1.1.1"]],
    ["alias.test", ["1.1.1.1", "2606:4700::1111"]],
    ["bare", ["1.1.1.3"]],
    ["a.b", ["1.1.1.4"]],
    ["listed.test", ["10.0.0.9", "fd00::9"]],
    ["listed", ["10.0.0.9"]],
    ["localhost", ["127.0.0.1", "::1"]],
    ["some.localhost", ["127.0.0.1", "::1"]],
  ])("%s", async (host, addresses) => {
    expect((await lookUp(host)).addresses).toEqual(addresses);
  });

  test("again when a query or its answer is lost on the way", async () => {
    server.asked = [];
    expect((await lookUp("lossy.test")).addresses).toEqual(["1.1.1.6"]);
    expect(server.asked.filter((asked) => asked === "lossy.test four").length).toBe(2);
  });

  test("with the TTL of its records", async () => {
    expect((await lookUp("both.test")).seconds).toBe(7);
  });

  test("for no time when it stands in the hosts file, which may change", async () => {
    expect(await lookUp("listed")).toEqual({ addresses: ["10.0.0.9"], seconds: 0 });
  });

  test("with the search list only while there is time", async () => {
    let now = 0;
    const clock = spyOn(performance, "now").mockImplementation(() => {
      now += EGRESS_LOOKUP_MS_MAX;
      return now;
    });
    server.asked = [];
    const error = await failureOf(lookUp("nowhere")).finally(() => clock.mockRestore());
    expect(error).toMatchObject({ code: "ETIMEOUT" });
    expect(server.asked.filter((asked) => asked.endsWith("four"))).toEqual([
      "nowhere.corp.test four",
    ]);
  });

  test("without a name server when it means this machine", async () => {
    server.asked = [];
    for (const host of ["localhost", "x.localhost", "listed.test"]) await lookUp(host);
    expect(server.asked).toEqual([]);
  });

  test("before the search list when it has a dot, after it when it has none", async () => {
    server.asked = [];
    await failureOf(lookUp("no.where"));
    await failureOf(lookUp("nowhere"));
    await failureOf(lookUp("no.where."));
    const names = ["no.where", "no.where.corp.test", "no.where.other.test"];
    names.push("nowhere.corp.test", "nowhere.other.test", "nowhere", "no.where");
    expect(server.asked.filter((asked) => asked.endsWith("four"))).toEqual(
      names.map((name) => `${name} four`),
    );
  });

  test("from the hosts file of this machine where no other is given", async () => {
    const listed = [...parseHosts(readFileSync("/etc/hosts", "latin1"))];
    const [name, addresses] = listed.find(([name]) => !name.endsWith("localhost")) ?? [];
    if (name === undefined) return;
    expect((await createResolver({ servers: ["127.0.0.1:1"] })(name)).addresses).toEqual(
      addresses!,
    );
  });

  test("from the hosts file, also after that has changed", async () => {
    const follow = createResolver({ servers, resolverFile, hostsFile: join(directory, "later") });
    expect(await failureOf(follow("listed.test"))).toBeInstanceOf(ResolutionFailed);
    await Bun.write(join(directory, "later"), "10.0.0.1 listed.test");
    expect((await follow("listed.test")).addresses).toEqual(["10.0.0.1"]);
    rmSync(join(directory, "later"));
    expect(await failureOf(follow("listed.test"))).toBeInstanceOf(ResolutionFailed);
  });
});

describe("a failed resolution says why", () => {
  test.each([
    ["missing.test", "ENOTFOUND", "The name has no address"],
    ["empty.test", "ENOTFOUND", "The name has no address"],
    ["failing.test", "ESERVFAIL", "The name server failed"],
    ["refusing.test", "EREFUSED", "The name server refused to answer"],
    // Another name of the search list must not stand in for it.
    ["broken", "ESERVFAIL", "The name server failed"],
    ["silent.test", "ETIMEOUT", "The name server did not answer in time"],
  ])(
    "%s",
    async (host, code, message) => {
      const error = await failureOf(lookUp(host));
      expect(error).toBeInstanceOf(ResolutionFailed);
      expect(error).toMatchObject({ code, message });
    },
    300_000,
  );
});

test("names whose server hangs delay neither other names nor files", async () => {
  const hanging = Array.from({ length: 64 }, (_, n) => lookUp(`hangs-${n}.test`, 2_000));
  let hanged = 0;
  for (const one of hanging) one.catch(() => hanged++);
  expect((await lookUp("four.test")).addresses).toEqual(["1.1.1.1"]);
  const file = await open(join(directory, "written"), "w");
  await file.write("x");
  await file.datasync();
  await file.close();
  expect(hanged).toBe(0);
  expect((await Promise.allSettled(hanging)).every(({ status }) => status === "rejected")).toBe(
    true,
  );
}, 300_000);

test("a name server that does not respond is queried last from then on", async () => {
  const names = Array.from({ length: 4 }, (_, n) => `name-${n}.test`);
  const silent = new NameServer(Object.fromEntries(names.map((name) => [name, { silent: true }])));
  const answers = new NameServer(
    Object.fromEntries(names.map((name) => [name, { four: ["1.1.1.1"] }])),
  );
  const both = [await silent.listen(), await answers.listen()];
  const look = createResolver({ servers: both, resolverFile, hostsFile, tryMs: 1_000 });
  for (const name of names) expect((await look(name)).addresses).toEqual(["1.1.1.1"]);
  expect(silent.asked).toEqual(["name-0.test six", "name-0.test four"]);
  silent.close();
  answers.close();
});

test("an egress queries the name servers that it is given", async () => {
  const sink = new RawSink((socket) => void socket.write(ok));
  const port = await sink.listen();
  const options = { allow: ["127.0.0.0/8"], nameServers: servers };
  expect((await ask(`http://local.test:${port}/`, options)).status).toBe(200);
  sink.close();
});
