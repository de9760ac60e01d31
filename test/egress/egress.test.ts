import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { createServer } from "node:https";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { createAddressRules } from "../../src/egress/address-rules.ts";
import { Deadline } from "../../src/egress/deadline.ts";
import { createEgress, type EgressOptions, EgressRefused } from "../../src/egress/egress.ts";
import { EGRESS_IDLE_CONNECTIONS_MAX } from "../../src/egress/idle-connections.ts";
import { EGRESS_REQUESTS_MAX } from "../../src/egress/limits.ts";
import { until } from "../until.ts";
import { forbiddenHosts, publicAddresses } from "./addresses.ts";
import { ask, failureOf, finding, ok, requestTo } from "./request-client.ts";
import { RawSink } from "./sink.ts";
import { ca, expired, good } from "./tls.ts";

describe("addresses that must not be reached", () => {
  const canaries: RawSink[] = [];
  let port: number;
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);

  beforeAll(async () => {
    // On every address of this machine: whatever leads here is noticed.
    const canary = new RawSink((socket) => void socket.write(ok));
    port = await canary.listen("::").catch(() => canary.listen("0.0.0.0"));
    canaries.push(canary);
  });
  afterAll(() => {
    for (const canary of canaries) canary.close();
  });
  const connections = () => canaries.reduce((sum, canary) => sum + canary.connections, 0);

  const hosts = Object.entries(forbiddenHosts).flatMap(([why, list]) =>
    list.map((host) => ({ why, host })),
  );

  test("the corpus of addresses is complete", () => {
    expect(new Set(hosts.map(({ host }) => host)).size).toBeGreaterThanOrEqual(80);
  });

  test.each(hosts)("a request to $host is refused ($why)", async ({ host }) => {
    const error = await failureOf(ask(`http://${host}:${port}/`));
    expect(error).toBeInstanceOf(EgressRefused);
    expect(connections()).toBe(0);
  });

  test("the canary server counts a connection", async () => {
    expect((await ask(`http://127.0.0.1:${port}/`, { allow: ["127.0.0.1/32"] })).status).toBe(200);
    expect(connections()).toBe(1);
  });

  test("all addresses of this machine are refused, also public ones", () => {
    const rules = createAddressRules([], () => ["8.8.8.8", "2606:4700:4700::1111"]);
    expect(rules.refusal("8.8.8.8")).toBe("an address of this machine");
    expect(rules.refusal("2606:4700:4700:0:0:0:0:1111")).toBe("an address of this machine");
    expect(rules.refusal("::ffff:8.8.8.8")).toBe("an address of this machine");
    expect(rules.refusal("1.1.1.1")).toBeUndefined();
    const real = createAddressRules([]);
    for (const { address } of own) expect(real.refusal(address)).toBeString();
  });

  test.each(publicAddresses)("%s may be reached", (address) => {
    expect(createAddressRules([], () => []).refusal(address)).toBeUndefined();
  });

  test.each(["", "x", "1.2.3", "1.2.3.4.5", "::g", "0177.0.0.1", "1.2.3.4/8"])(
    "%p is no address",
    (text) => {
      expect(createAddressRules([]).refusal(text)).toBe("not an IP address");
    },
  );
});

describe("allowed addresses", () => {
  test("apply to every spelling, and to no other address", () => {
    const rules = createAddressRules(["10.1.0.0/16", "fd00::/8"], () => []);
    for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1"]) {
      expect(rules.refusal(address)).toBeUndefined();
    }
    for (const address of ["10.2.0.1", "127.0.0.1", "fc00::1", "64:ff9b::10.1.2.3"]) {
      expect(rules.refusal(address)).toBeString();
    }
  });

  test("a malformed CIDR is refused", () => {
    expect(() => createAddressRules(["10.0.0.0"])).toThrow();
  });
});

describe("URLs", () => {
  test.each([
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com:70/",
    "javascript:alert(1)",
    "unix:///var/run/docker.sock",
    "/relative",
    "",
    "http://",
    "http://user@example.com/",
    "http://user:secret@example.com/",
    "http://example.com@127.0.0.1:1/",
  ])("%p is refused", async (url) => {
    const error = await failureOf(ask(url, { allow: ["0.0.0.0/0"] }));
    expect(error).toBeInstanceOf(EgressRefused);
    // The URL may hold a secret.
    expect(String(error)).not.toContain("secret");
  });
});

describe("TLS", () => {
  let seen: string[] = [];
  const server = createServer({ ...good }, (request, response) => {
    seen.push(`${(request.socket as { servername?: string }).servername} ${request.headers.host}`);
    response.end("ok");
  });
  let port: number;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as { port: number }).port;
  });
  afterAll(() => void server.close());
  const at = (host: string, options: Partial<EgressOptions>) =>
    ask(`https://${host}:${port}/`, {
      allow: ["127.0.0.0/8"],
      resolve: finding("127.0.0.1"),
      ...options,
    });

  test("the certificate is checked against the host in the URL, at the checked address", async () => {
    seen = [];
    expect((await at("good.test", { ca })).status).toBe(200);
    expect(seen).toEqual([`good.test good.test:${port}`]);
  });

  test.each([
    { what: "of another name", host: "evil.test", options: { ca } },
    { what: "of an unknown authority", host: "good.test", options: {} },
    { what: "for a name when the URL has the address", host: "127.0.0.1", options: { ca } },
  ])("a certificate $what is refused", async ({ host, options }) => {
    seen = [];
    const error = await failureOf(at(host, options));
    expect(String(error)).toMatch(/altnames|certificate/i);
    expect(error).not.toBeInstanceOf(EgressRefused);
    expect(seen).toEqual([]);
  });

  test("an idle connection is not used for another TLS name or authority", async () => {
    const options = { allow: ["127.0.0.0/8"], resolve: finding("127.0.0.1"), ca };
    const egress = createEgress(options);
    let opened = 0;
    const count = () => opened++;
    server.on("secureConnection", count);
    for (let n = 0; n < 3; n++) {
      const { status } = await egress.request(requestTo(`https://good.test:${port}/`));
      expect(status).toBe(200);
    }
    expect(opened).toBe(1);
    const same = requestTo(`https://good.test:${port}/`);
    const others = [
      requestTo(`https://evil.test:${port}/`),
      { ...same, tls: { ca: expired.cert } },
    ];
    for (const other of others) {
      expect(String(await failureOf(egress.request(other)))).toMatch(/altnames|certificate/i);
    }
    server.off("secureConnection", count);
    egress.close();
  });

  test("a TLS handshake that never completes is aborted at the timeout", async () => {
    const silent = new RawSink();
    const url = `https://127.0.0.1:${await silent.listen()}/`;
    const egress = createEgress({ allow: ["127.0.0.0/8"] });
    const error = await failureOf(egress.request({ ...requestTo(url), timeoutMs: 100 }));
    expect(String(error)).toContain("100 ms");
    while (silent.open > 0) await Bun.sleep(1);
    egress.close();
    silent.close();
  });

  test("plain HTTP instead of TLS fails the request", async () => {
    const sink = new RawSink((socket) => void socket.write(ok));
    const plain = await sink.listen();
    const error = await failureOf(ask(`https://127.0.0.1:${plain}/`, { allow: ["127.0.0.0/8"] }));
    expect(error).toBeInstanceOf(Error);
    sink.close();
  });
});

test("idle connections are bounded over all receivers, and the longest idle is closed", async () => {
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const sink = new RawSink((socket) => void socket.write(ok));
  const port = await sink.listen("0.0.0.0");
  const reach = async (n: number) => {
    const url = `http://127.0.${n >> 8}.${n & 255}:${port}/`;
    const { status } = await egress.request({ ...requestTo(url), timeoutMs: 60_000 });
    expect(status).toBe(200);
  };
  const settled = async () => {
    while (sink.open > EGRESS_IDLE_CONNECTIONS_MAX) await Bun.sleep(1);
    expect(sink.open).toBe(EGRESS_IDLE_CONNECTIONS_MAX);
  };

  const receivers = Array.from({ length: EGRESS_IDLE_CONNECTIONS_MAX + 50 }, (_, n) => n + 1);
  for (const n of receivers) await reach(n);
  await settled();
  for (const n of receivers.slice(-EGRESS_IDLE_CONNECTIONS_MAX)) await reach(n);
  expect(sink.connections).toBe(receivers.length);
  for (const n of receivers.slice(0, 50)) await reach(n);
  expect(sink.connections).toBe(receivers.length + 50);
  // Busy ones are not bounded here.
  await Promise.all(receivers.map(reach));
  await settled();
  egress.close();
  sink.close();
});

describe("a kept connection", () => {
  /** A receiver that answers a request, and ends its connection on the second, after this text. */
  async function twice(method: string, isRepeatable: boolean, last = "") {
    const perSocket = new Map<Socket, number>();
    const sink = new RawSink((socket) => {
      const count = (perSocket.get(socket) ?? 0) + 1;
      perSocket.set(socket, count);
      if (count === 1) socket.write(ok);
      else if (last === "") socket.destroy();
      else socket.end(last);
    });
    const url = `http://127.0.0.1:${await sink.listen()}/`;
    const egress = createEgress({ allow: ["127.0.0.0/8"] });
    const request = { ...requestTo(url), method, isRepeatable };
    await egress.request(request);
    const second = await egress.request(request).catch((error: Error) => error.message);
    egress.close();
    sink.close();
    return { second, requests: sink.requests.length, connections: sink.connections };
  }

  test("that closes during a repeatable request is replaced, and the request is sent again", async () => {
    const { second, requests, connections } = await twice("POST", true);
    expect(second).toMatchObject({ status: 200 });
    expect({ requests, connections }).toEqual({ requests: 3, connections: 2 });
  });

  test("that closes during another request is not retried", async () => {
    const { second, requests } = await twice("POST", false);
    expect(second).toBe("The response ended early");
    expect(requests).toBe(2);
  });

  test("that closes within a response is not retried: the receiver has the request", async () => {
    const { second, requests } = await twice("POST", true, "HTTP/1.1 200 OK\r\n");
    expect(second).toBe("The response ended early");
    expect(requests).toBe(2);
  });

  test("is closed before the receiver closes it", async () => {
    const sink = new RawSink((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n");
    });
    const url = `http://127.0.0.1:${await sink.listen()}/`;
    const egress = createEgress({ allow: ["127.0.0.0/8"] });
    await egress.request(requestTo(url));
    while (sink.open > 0) await Bun.sleep(5);
    egress.close();
    sink.close();
  });

  test("is not used again when its request was answered before it was sent completely", async () => {
    const answered = new Set<Socket>();
    const sink = new RawSink((socket) => {
      if (answered.has(socket)) return;
      answered.add(socket);
      socket.pause();
      socket.write("HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
    });
    const url = `http://127.0.0.1:${await sink.listen()}/`;
    const egress = createEgress({ allow: ["127.0.0.0/8"] });
    const request = { ...requestTo(url), body: new Uint8Array(32 << 20) };
    for (let n = 0; n < 3; n++) expect((await egress.request(request)).status).toBe(413);
    expect(sink.connections).toBe(3);
    egress.close();
    sink.close();
  });
});

describe("concurrent requests", () => {
  const limits: [string, { descriptorsMax?: number }, number][] = [
    ["the limit", {}, EGRESS_REQUESTS_MAX],
    ["a part of few descriptors", { descriptorsMax: 160 }, 20],
  ];
  test.each(limits)(
    "are bounded by %s, and those that hang leave room for other workspaces",
    async (_, options, requestsMax) => {
      const silent = new RawSink();
      const hanging = `http://127.0.0.1:${await silent.listen()}/`;
      const sink = new RawSink((socket) => void socket.write(ok));
      const url = `http://127.0.0.1:${await sink.listen()}/`;
      const egress = createEgress({ allow: ["127.0.0.0/8"], ...options });
      const ended = new AbortController();
      const hang = { ...requestTo(hanging), timeoutMs: 60_000, signal: ended.signal };
      const asked = Array.from({ length: requestsMax }, () => egress.request(hang));
      while (silent.open < requestsMax / 2) await Bun.sleep(5);
      for (let n = 0; n < 20; n++) {
        const request = { ...requestTo(url), workspaceId: "other", timeoutMs: 60_000 };
        expect((await egress.request(request)).status).toBe(200);
      }
      expect(silent.connections).toBe(requestsMax / 2);
      const late = egress.request({ ...requestTo(url), timeoutMs: 20 });
      expect(await failureOf(late)).toEqual(
        new Error("No permit for one more request of the workspace within 20 ms"),
      );
      ended.abort(new Error("The test is over"));
      for (const one of await Promise.allSettled(asked)) expect(one.status).toBe("rejected");
      egress.close();
      silent.close();
      sink.close();
    },
    300_000,
  );
});

test("a request and a connection that waited for a permit have their whole time again", async () => {
  const silent = new RawSink();
  const hanging = { host: "127.0.0.1", port: await silent.listen() };
  const sink = new RawSink((socket) => void socket.write(ok));
  const url = `http://127.0.0.1:${await sink.listen()}/`;
  // One permit for requests and one for connections.
  const egress = createEgress({ allow: ["127.0.0.0/8"], descriptorsMax: 8 });
  const more = { workspaceId: "w", timeoutMs: 60_000 };
  const { signal } = new AbortController();
  const restart = spyOn(Deadline.prototype, "restart");
  const ended = new AbortController();
  const hang = { ...requestTo(`http://127.0.0.1:${hanging.port}/`), ...more, signal: ended.signal };
  const first = failureOf(egress.request(hang));
  const second = egress.request({ ...requestTo(url), ...more });
  const held = await egress.connect({ ...hanging, ...more, signal });
  const waiting = egress.connect({ ...hanging, ...more, signal });
  expect(restart).not.toHaveBeenCalled();
  ended.abort(new Error("The receiver hung"));
  await first;
  expect((await second).status).toBe(200);
  expect(restart).toHaveBeenCalledTimes(1);
  held.destroy();
  (await waiting).destroy();
  expect(restart).toHaveBeenCalledTimes(2);
  restart.mockRestore();
  egress.close();
  silent.close();
  sink.close();
});

test("restarting a deadline restarts its timer, and one that is over stays over", () => {
  const refresh = spyOn(Object.getPrototypeOf(setTimeout(() => {})), "refresh");
  const caller = new AbortController();
  const deadline = new Deadline(60_000, caller.signal);
  deadline.restart();
  expect(refresh).toHaveBeenCalledTimes(1);
  caller.abort(new Error("Given up"));
  deadline.restart();
  expect(refresh).toHaveBeenCalledTimes(1);
  refresh.mockRestore();
});

test("a deadline that passed while the process stood still lets what has arrived be read first", async () => {
  const first = Promise.withResolvers<string>();
  const sink = new RawSink((socket) => {
    socket.write("answer");
    const deadline = new Deadline(1, new AbortController().signal);
    deadline.onEnd(() => first.resolve("end"));
    Bun.sleepSync(20);
  });
  const client = connect(await sink.listen(), "127.0.0.1");
  client.once("data", () => first.resolve("answer"));
  client.write("request");
  expect(await first.promise).toBe("answer");
  client.destroy();
  sink.close();
});

test("a request is not sent to a second address after the receiver closed the connection", async () => {
  const sink = new RawSink((socket) => void socket.destroy());
  const port = await sink.listen("0.0.0.0");
  const resolve = finding("127.0.0.1", "127.0.0.2");
  const asked = ask(`http://two.test:${port}/`, { allow: ["127.0.0.0/8"], resolve });
  expect(await failureOf(asked)).toBeInstanceOf(Error);
  expect(sink.requests.length).toBe(1);
  sink.close();
});

test("a request that waits for its answer ends when the egress closes", async () => {
  const sink = new RawSink();
  const url = `http://127.0.0.1:${await sink.listen()}/`;
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const asked = failureOf(egress.request({ ...requestTo(url), timeoutMs: 30_000 }));
  await until(() => sink.requests.length === 1);
  egress.close();
  expect(await asked).toEqual(new Error("The server is closing"));
  sink.close();
});

test("an aborted request is not sent", async () => {
  const sink = new RawSink();
  const url = `http://127.0.0.1:${await sink.listen()}/`;
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const gone = AbortSignal.abort(new Error("Given up"));
  for (let n = 0; n < 2; n++) {
    const error = await failureOf(egress.request({ ...requestTo(url), signal: gone }));
    expect(error).toEqual(new Error("Given up"));
  }
  expect(sink.connections).toBe(0);
  egress.close();
  sink.close();
});

describe("a request that would smuggle another one is refused", () => {
  test.each([
    ["a method", { method: "GET / HTTP/1.1\r\nX:" }],
    ["a method for proxies", { method: "CONNECT" }],
    ["no method", { method: "" }],
    ["a header's name", { headers: { "A: b\r\nC": "d" } }],
    ["a header's value", { headers: { A: "b\r\nC: d" } }],
    ["a bare line end", { headers: { A: "b\nC: d" } }],
    ["a character that loses a byte", { headers: { A: "b\u010d\u010aC: d" } }],
    ["a second length", { headers: { "content-LENGTH": "1" } }],
  ])("%s is refused", async (_, part) => {
    const sink = new RawSink((socket) => void socket.write(ok));
    const url = `http://127.0.0.1:${await sink.listen()}/`;
    const egress = createEgress({ allow: ["127.0.0.0/8"] });
    const asked = egress.request({ ...requestTo(url), ...part });
    expect(await failureOf(asked)).toBeInstanceOf(EgressRefused);
    expect(sink.connections).toBe(0);
    egress.close();
    sink.close();
  });

  test("a URL is sent in one line", async () => {
    const sink = new RawSink((socket) => void socket.write(ok));
    const port = await sink.listen();
    await ask(`http://127.0.0.1:${port}/a\r\n b?c= d\u010a\n&é#f`, { allow: ["127.0.0.0/8"] });
    expect(sink.requests[0]!.split("\r\n")[0]).toBe("POST /a%20b?c=%20d%C4%8A&%C3%A9 HTTP/1.1");
    sink.close();
  });
});

describe("the environment of the process", () => {
  test("does not set a proxy", async () => {
    const sink = new RawSink((socket) => void socket.write(ok));
    const port = await sink.listen();
    const proxy = new RawSink((socket) => void socket.write(ok));
    const proxyUrl = `http://127.0.0.1:${await proxy.listen()}`;
    const child = Bun.spawn(
      [process.execPath, `${import.meta.dir}/request-child.ts`, `http://127.0.0.1:${port}/`],
      {
        env: { HTTP_PROXY: proxyUrl, http_proxy: proxyUrl, NODE_USE_ENV_PROXY: "1" },
        stdout: "pipe",
      },
    );
    expect(await new Response(child.stdout).text()).toBe("200");
    expect([sink.connections, proxy.connections]).toEqual([1, 0]);
    sink.close();
    proxy.close();
  });

  test("does not disable the check of certificates", async () => {
    const seen: string[] = [];
    const server = createServer({ ...good }, (request, response) => {
      seen.push(request.url!);
      response.end("ok");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const child = Bun.spawn(
      [process.execPath, `${import.meta.dir}/request-child.ts`, `https://127.0.0.1:${port}/`],
      { env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" }, stdout: "pipe", stderr: "pipe" },
    );
    expect(await new Response(child.stdout).text()).toBe("");
    expect(await new Response(child.stderr).text()).toMatch(/certificate/i);
    expect(seen).toEqual([]);
    server.close();
  });
});
