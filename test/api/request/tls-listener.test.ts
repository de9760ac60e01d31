import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { Elysia } from "elysia";
import { listenOn, TlsListener } from "../../../src/api/tls/tls-listener.ts";
import { StartError } from "../../../src/errors.ts";
import { openListeningSocket } from "../../../src/http/listening-socket.ts";
import { expired, good } from "../../egress/tls.ts";
import { until } from "../../until.ts";

const host = "127.0.0.1";
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const insecure = { tls: { rejectUnauthorized: false } };
/** Fetches over TLS from a port; resolves with the text, or the code of the error. */
const fetchTls = async (port: number) =>
  await (await fetch(`https://${host}:${port}/`, insecure)).text();
const fetchPlain = async (port: number) => await (await fetch(`http://${host}:${port}/`)).text();

test("without TLS each client is known by its address, and none is foreign", async () => {
  const listener = new TlsListener(() => {});
  const server = Bun.serve({
    ...{ hostname: host, port: 0 },
    fetch: (request, of) =>
      new Response(
        `${listener.peerOf(request, of as never)} ${listener.isForeign(request, of as never)}`,
      ),
  });
  ends.push(() => server.stop(true));
  expect(await fetchPlain(server.port!)).toBe("127.0.0.1 false");
  expect(listener.peerOf(new Request("http://x/"), null)).toBeUndefined();
  // Neither has anything to change or to end.
  listener.setTls(good);
  listener.stop();
});

test("with TLS a client is known through the relay, and who comes around it is foreign", async () => {
  let failed = 0;
  const listener = new TlsListener(() => {
    failed += 1;
  });
  const server = Bun.serve({
    ...{ hostname: host, port: 0 },
    fetch: (request, of) =>
      new Response(
        `${listener.peerOf(request, of as never)} ${listener.isForeign(request, of as never)}`,
      ),
  });
  const socket = openListeningSocket({ host, port: 0 });
  listener.start(socket, server.port!, good);
  ends.push(
    () => listener.stop(),
    () => server.stop(true),
  );
  expect(await fetchTls(socket.port)).toBe("127.0.0.1 false");
  expect(await fetchPlain(server.port!)).toBe("undefined true");
  const plain = connect(socket.port, host, () => plain.end("GET / HTTP/1.1\r\n\r\n"));
  plain.on("error", () => {});
  await until(() => failed === 1);
});

test("new keys are those of new connections", async () => {
  const listener = new TlsListener(() => {});
  const server = Bun.serve({ ...{ hostname: host, port: 0 }, fetch: () => new Response("ok") });
  const socket = openListeningSocket({ host, port: 0 });
  listener.start(socket, server.port!, expired);
  ends.push(
    () => listener.stop(),
    () => server.stop(true),
  );
  const subjectOf = async () => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const client = connectTls({ host, port: socket.port, rejectUnauthorized: false }, () => {
      resolve(client.getPeerCertificate().valid_from);
      client.destroy();
    });
    client.on("error", reject);
    return await promise;
  };
  const before = await subjectOf();
  listener.setTls(good);
  expect(await subjectOf()).not.toBe(before);
});

describe("the control plane listens", () => {
  const appOf = () => {
    const app = new Elysia({ systemRouter: false }).get("/", () => "here");
    ends.push(() => app.server && app.stop(true));
    return app as unknown as Elysia;
  };
  const listen = (address: object) => {
    const listener = new TlsListener(() => {});
    ends.push(() => listener.stop());
    return listenOn(appOf(), listener, { host, port: 0, ...address });
  };

  test("at its address, with and without TLS", async () => {
    const plain = listen({});
    expect(await fetchPlain(plain.port)).toBe("here");
    const secure = listen({ tls: good });
    expect(await fetchTls(secure.port)).toBe("here");
    await expect(fetchPlain(secure.port)).rejects.toThrow();
  });

  test("on a socket that another process has opened, whatever the address is", async () => {
    for (const tls of [undefined, good]) {
      const socket = { ...openListeningSocket({ host, port: 0 }), host };
      const found = listen({ socket, port: 1, tls });
      expect([found.port, found.host]).toEqual([socket.port, host]);
      expect(await (tls ? fetchTls : fetchPlain)(socket.port)).toBe("here");
    }
  });

  test("not at a port that is taken, and names the address", () => {
    const { port } = listen({});
    const message = `Cannot listen on ${host} port ${port}`;
    for (const tls of [undefined, good]) {
      let refusal: unknown;
      try {
        listen({ port, tls });
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(StartError);
      expect((refusal as Error).message).toStartWith(message);
    }
  });
});
