import { afterEach, describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { createServer, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import {
  createEgress,
  EGRESS_CONNECTIONS_MAX,
  type EgressOptions,
  EgressRefused,
} from "../../src/egress/egress.ts";
import { until } from "../until.ts";
import { forbiddenHosts } from "./addresses.ts";
import { failureOf, finding } from "./request-client.ts";
import { RawSink } from "./sink.ts";
import { ca, expired, good } from "./tls.ts";

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function egressWith(options: Partial<EgressOptions> = {}) {
  const egress = createEgress({ allow: ["127.0.0.0/8"], ...options });
  ends.push(egress.close);
  return egress;
}

async function sinkOn(host: string, answer?: (socket: Socket) => void) {
  const sink = new RawSink(answer);
  ends.push(() => sink.close());
  return { sink, port: await sink.listen(host) };
}

const { signal } = new AbortController();
const to = (host: string, port: number) => ({
  workspaceId: "w",
  host,
  port,
  timeoutMs: 60_000,
  signal,
});

/** Sends a text and returns the response of the peer. */
async function said(socket: Socket, text: string): Promise<string> {
  const answered = new Promise<string>((resolve) =>
    socket.once("data", (data) => resolve(data.toString())),
  );
  socket.write(text);
  return await answered;
}

describe("addresses", () => {
  const hosts = Object.entries(forbiddenHosts).flatMap(([why, list]) =>
    list.map((host) => ({ why, host: host.replace(/^\[|\]$/g, "") })),
  );

  test.each(hosts)("no connection is made to $host ($why)", async ({ host }) => {
    const { sink, port } = await sinkOn("0.0.0.0");
    const error = await failureOf(egressWith({ allow: [] }).connect(to(host, port)));
    expect(error).toBeInstanceOf(EgressRefused);
    expect(sink.connections).toBe(0);
  });

  test("a refused connection names the reason and the setting, as a refused request does", async () => {
    const error = await failureOf(egressWith({ allow: [] }).connect(to("10.0.0.7", 5432)));
    expect(error).toEqual(
      new EgressRefused(
        "Requests must not reach this address (private) unless `egress.allow` holds it",
      ),
    );
  });

  test("a name that rebinds is connected to the address that was checked", async () => {
    const allowed = await sinkOn("127.0.0.2");
    const forbidden = new RawSink();
    ends.push(() => forbidden.close());
    await forbidden.listen("127.0.0.1");
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return { addresses: [asked === 1 ? "127.0.0.2" : "127.0.0.1"], seconds: 60 };
    };
    const egress = egressWith({ allow: ["127.0.0.2/32"], resolve });
    for (let n = 0; n < 3; n++) await egress.connect(to("rebind.test", allowed.port));
    expect(asked).toBe(1);
    await until(() => allowed.sink.connections === 3);
    expect(forbidden.connections).toBe(0);
  });

  test("a connection goes to the next address when one refuses it", async () => {
    const { port, sink } = await sinkOn("127.0.0.3");
    const resolve = finding("127.0.0.2", "127.0.0.3");
    await egressWith({ resolve }).connect(to("two.test", port));
    await until(() => sink.connections === 1);
  });

  test.each(["", "a/b", "a?b", "a#b", "u@a", "a:80", "a b", "[::1", "a\\b", "a\r\nb", "::1]"])(
    "%p is no host",
    async (host) => {
      const error = await failureOf(egressWith().connect(to(host, 1)));
      expect(error).toBeInstanceOf(EgressRefused);
      expect(String(error)).toContain("Expected a host name or an address");
    },
  );
});

describe("a connection", () => {
  test("carries data both ways until its owner closes it", async () => {
    const { port, sink } = await sinkOn("127.0.0.1", (socket) => void socket.write("pong"));
    const socket = await egressWith().connect(to("127.0.0.1", port));
    expect(await said(socket, "ping")).toBe("pong");
    expect(sink.requests).toEqual(["ping"]);
    socket.destroy();
    await until(() => sink.open === 0);
  });

  test("that breaks emits an error to its owner, and does not end a process without a listener", async () => {
    const { port } = await sinkOn("127.0.0.1", (socket) => void socket.resetAndDestroy());
    const socket = await egressWith().connect(to("127.0.0.1", port));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write("x");
    await closed;
  });

  test("that is idle is probed by TCP after 15 s", async () => {
    const { port } = await sinkOn("127.0.0.1");
    const probes = spyOn(Socket.prototype, "setKeepAlive");
    onTestFinished(() => probes.mockRestore());
    await egressWith().connect(to("127.0.0.1", port));
    expect(probes.mock.calls).toEqual([[true, 15_000]]);
  });

  test.each([
    ["ECONNREFUSED", "connected"],
    ["EHOSTUNREACH", "connected"],
    ["ENETUNREACH", "connected"],
    ["EADDRNOTAVAIL", "connected"],
    ["ETIMEDOUT", "ETIMEDOUT"],
  ])("to a name whose first address fails with %s ends as %s", async (code, expected) => {
    const { port } = await sinkOn("127.0.0.1");
    const egress = egressWith({ resolve: finding("127.0.0.2", "127.0.0.1") });
    const opening = spyOn(Socket.prototype, "connect").mockImplementationOnce(function (
      this: Socket,
    ) {
      process.nextTick(() => this.destroy(Object.assign(new Error("Failed"), { code })));
      return this;
    } as never);
    onTestFinished(() => opening.mockRestore());
    const outcome = await egress.connect(to("two.test", port)).then(
      () => "connected",
      (error) => error.code,
    );
    expect(outcome).toBe(expected);
  });

  test("fails with ECONNREFUSED on a closed port", async () => {
    const { port, sink } = await sinkOn("127.0.0.1");
    sink.close();
    const error = await failureOf(egressWith().connect(to("127.0.0.1", port)));
    expect((error as { code?: string }).code).toBe("ECONNREFUSED");
  });

  test("closes with the egress", async () => {
    const { port, sink } = await sinkOn("127.0.0.1");
    const egress = egressWith();
    await egress.connect(to("127.0.0.1", port));
    egress.close();
    await until(() => sink.connections === 1 && sink.open === 0);
  });

  test("is not opened after an abort, and is closed when aborted while it opens", async () => {
    const { port, sink } = await sinkOn("127.0.0.1");
    const gone = AbortSignal.abort(new Error("Given up"));
    const egress = egressWith();
    const opening = spyOn(Socket.prototype, "connect");
    // The second time, the address is known already.
    for (let n = 0; n < 2; n++) {
      const early = egress.connect({ ...to("127.0.0.1", port), signal: gone });
      expect(await failureOf(early)).toEqual(new Error("Given up"));
    }
    expect(opening).not.toHaveBeenCalled();
    opening.mockRestore();
    expect(sink.connections).toBe(0);

    const impatient = new AbortController();
    const tls = {};
    const late = egress.connect({ ...to("127.0.0.1", port), tls, signal: impatient.signal });
    await until(() => sink.connections === 1);
    impatient.abort(new Error("Given up"));
    expect(await failureOf(late)).toEqual(new Error("Given up"));
    await until(() => sink.open === 0);
  });
});

describe("TLS", () => {
  const tlsServer = createTlsServer(good, (socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => socket.write(`${(socket as never as Named).servername} ${data}`));
  });
  tlsServer.on("tlsClientError", () => {});
  interface Named {
    servername: string;
  }

  /** A server that is unencrypted until a client requests TLS, as PostgreSQL does. */
  async function upgrading(answer: string) {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        socket.write(answer);
        socket.removeAllListeners("data");
        if (answer === "S") tlsServer.emit("connection", socket);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(() => server.close());
    return (server.address() as { port: number }).port;
  }

  async function direct() {
    const server = createTlsServer(good, (socket) => {
      socket.on("error", () => {});
      socket.on("data", (data) => socket.write(`${(socket as never as Named).servername} ${data}`));
    });
    server.on("tlsClientError", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(() => server.close());
    return (server.address() as { port: number }).port;
  }

  const upgrade = {
    request: Buffer.from("tls?"),
    accept: Buffer.from("S"),
    refusal: (answer: Buffer) => `The database answers ${answer}`,
  };
  const ways = [
    { how: "from the start", listen: direct, terms: {} },
    { how: "after an agreement", listen: () => upgrading("S"), terms: { upgrade } },
  ];
  const resolve = finding("127.0.0.1");

  for (const { how, listen, terms } of ways) {
    test(`${how}: the certificate is checked against the host`, async () => {
      const request = { ...to("good.test", await listen()), tls: { ...terms, ca } };
      const socket = await egressWith({ resolve }).connect(request);
      expect(await said(socket, "hi")).toMatch(/ hi$/);
    });

    test(`${how}: the certificate is checked against the given server name`, async () => {
      const tls = { ...terms, ca, serverName: "good.test" };
      const socket = await egressWith().connect({ ...to("127.0.0.1", await listen()), tls });
      expect(await said(socket, "hi")).toMatch(/ hi$/);
    });

    test.each([
      { what: "of another name", host: "evil.test", tls: { ca } },
      { what: "of an unknown authority", host: "good.test", tls: {} },
      { what: "for a name when the host is an address", host: "127.0.0.1", tls: { ca } },
      { what: "not of the given name", host: "good.test", tls: { ca, serverName: "evil.test" } },
    ])(`${how}: a certificate $what is refused`, async ({ host, tls }) => {
      const request = { ...to(host, await listen()), tls: { ...terms, ...tls } };
      const error = await failureOf(egressWith({ resolve }).connect(request));
      expect(String(error)).toMatch(/altnames|certificate/i);
    });
  }

  const get = {
    workspaceId: "w",
    method: "GET",
    headers: {},
    body: new Uint8Array(),
    timeoutMs: 60_000,
    answerBytesMax: 100,
    isRepeatable: true,
    signal,
  };

  test("a server whose certificate has expired is refused for that reason", async () => {
    const server = createTlsServer(expired, (socket) => void socket.on("error", () => {}));
    server.on("tlsClientError", () => {});
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    ends.push(() => server.close());
    const { port } = server.address() as { port: number };
    const egress = egressWith({ resolve });
    const tls = { ca: expired.cert };
    const connected = egress.connect({ ...to("good.test", port), tls });
    expect(String(await failureOf(connected))).toContain("certificate has expired");
    const answered = egress.request({ ...get, url: `https://good.test:${port}/`, tls });
    expect(String(await failureOf(answered))).toContain("certificate has expired");
  });

  test("a certificate authority of the caller applies to its own requests only", async () => {
    const server = createTlsServer(good, (socket) => {
      socket.on("error", () => {});
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    });
    server.on("tlsClientError", () => {});
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    ends.push(() => server.close());
    const url = `https://127.0.0.1:${(server.address() as { port: number }).port}/`;
    const egress = egressWith();
    const request = { ...get, url };
    const tls = { ca, serverName: "good.test" };
    expect((await egress.request({ ...request, tls })).status).toBe(200);
    expect((await egress.request({ ...request, tls })).status).toBe(200);
    // The connection is kept, but not for who does not trust its authority.
    const without = egress.request({ ...request, tls: { serverName: "good.test" } });
    expect(String(await failureOf(without))).toMatch(/certificate/i);
  });

  test("a server without TLS is refused and gets no other data", async () => {
    const port = await upgrading("N");
    const request = { ...to("good.test", port), tls: { ca, upgrade } };
    const error = await failureOf(egressWith({ resolve }).connect(request));
    expect(error).toMatchObject({ name: "TlsRefused", message: "The database answers N" });
  });

  test("bytes after the response to the TLS request are refused", async () => {
    const port = await upgrading("Splanted");
    const request = { ...to("good.test", port), tls: { ca, upgrade } };
    const error = await failureOf(egressWith({ resolve }).connect(request));
    expect(error).toMatchObject({ name: "TlsRefused" });
  });

  test.each([
    { what: "never shakes hands", tls: { ca } },
    { what: "never agrees", tls: { ca, upgrade } },
  ])("a server that $what is given up at the timeout", async ({ tls }) => {
    const { port, sink } = await sinkOn("127.0.0.1");
    const request = { ...to("127.0.0.1", port), tls, timeoutMs: 100 };
    const error = await failureOf(egressWith().connect(request));
    expect(error).toEqual(new Error("No connection within 100 ms"));
    await until(() => sink.open === 0);
  });

  test("a server that closes the connection during the TLS handshake fails it", async () => {
    for (const tls of [{ ca }, { ca, upgrade }]) {
      const { port } = await sinkOn("127.0.0.1", (socket) => void socket.end());
      const error = await failureOf(egressWith().connect({ ...to("127.0.0.1", port), tls }));
      expect(error).toMatchObject({
        name: "TlsRefused",
        message:
          "The server closed the connection in the TLS handshake; it may not speak TLS on this port",
      });
    }
  });
});

describe("permits for connections", () => {
  test("are bounded, held until the connection closes, and left to other workspaces", async () => {
    const { port, sink } = await sinkOn("127.0.0.1");
    const egress = egressWith({ descriptorsMax: 160 });
    const held: Socket[] = [];
    for (let n = 0; n < 10; n++) held.push(await egress.connect(to("127.0.0.1", port)));
    const full = { ...to("127.0.0.1", port), timeoutMs: 50 };
    expect(await failureOf(egress.connect(full))).toEqual(
      new Error("No permit for one more connection of the workspace within 50 ms"),
    );
    for (let n = 0; n < 5; n++) {
      await egress.connect({ ...to("127.0.0.1", port), workspaceId: "other" });
    }
    const waiting = egress.connect(to("127.0.0.1", port));
    // Half of the places and one: as many as other workspaces leave.
    for (const socket of held.splice(0, 6)) socket.destroy();
    (await waiting).destroy();
    expect(EGRESS_CONNECTIONS_MAX).toBeGreaterThan(20);
    for (const socket of held) socket.destroy();
    await until(() => sink.open === 5);
  });

  test("are released by connections that fail", async () => {
    const { port, sink } = await sinkOn("127.0.0.1", (socket) => void socket.end());
    const egress = egressWith({ descriptorsMax: 32 });
    for (let n = 0; n < 20; n++) {
      const error = await failureOf(egress.connect({ ...to("127.0.0.1", port), tls: { ca } }));
      expect(String(error)).not.toContain("place");
    }
    expect(sink.connections).toBe(20);
  });
});
