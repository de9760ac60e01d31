import { afterEach, describe, expect, jest, spyOn, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { type Socket as ConnectedSocket, connect } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Socket } from "bun";
import { openListeningSocket } from "../../src/http/listening-socket.ts";
import { relayTls } from "../../src/http/tls/relay.ts";
import { RelayedSocket } from "../../src/http/tls/relayed-socket.ts";
import type { TlsKeys } from "../../src/settings/files/tls-files.ts";
import {
  IDLE_CONNECTION_SECONDS_MAX,
  TLS_HANDSHAKE_SECONDS_MAX,
  TLS_HANDSHAKES_MAX,
} from "../../src/settings/limits.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { holds, until } from "../until.ts";
import { newKeys } from "./new-keys.ts";

const MODULES = `${import.meta.dir}/../../src/http`;

/** Opens a relay and stops it. Prints a line when it has stopped. */
const SCRIPT = `
  import { openListeningSocket } from "${MODULES}/listening-socket.ts";
  import { relayTls } from "${MODULES}/tls/relay.ts";
  const relay = relayTls({
    socket: openListeningSocket({ host: "127.0.0.1", port: 0 }),
    serverPort: 1,
    tls: { cert: process.env.CERTIFICATE, key: process.env.KEY },
    onFailedHandshake() {},
  });
  relay.stop();
  console.log("stopped");
`;

testWith(missingPrograms("openssl"))("a stopped TLS relay does not keep its process", async () => {
  const { key, cert } = newKeys();
  const child = Bun.spawn([process.execPath, "-e", SCRIPT], {
    env: { ...process.env, CERTIFICATE: cert, KEY: key },
    stdout: "pipe",
  });
  expect(await child.exited).toBe(0);
  expect(await new Response(child.stdout).text()).toBe("stopped\n");
});

testWith(missingPrograms("openssl"))(
  "a TLS relay passes bytes on, knows a client's address until it closes, and counts failed handshakes",
  async () => {
    const ports: number[] = [];
    const server = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (it) => void ports.push(it.remotePort),
        data: (it, bytes) => void it.write(bytes),
      },
    });
    const socket = openListeningSocket({ host: "127.0.0.1", port: 0 });
    let failed = 0;
    const [first, second] = [newKeys(), newKeys()];
    const onFailedHandshake = () => void failed++;
    const relay = relayTls({ socket, serverPort: server.port, tls: first, onFailedHandshake });
    const echo = async () => {
      const client = connectTls({
        port: socket.port,
        host: "127.0.0.1",
        rejectUnauthorized: false,
      });
      client.write("ping");
      const [answer] = await once(client, "data");
      expect(String(answer)).toBe("ping");
      return client;
    };
    const client = await echo();
    expect(relay.clientAt(ports[0]!)).toBe("127.0.0.1");
    const of = (keys: { cert: string }) => new X509Certificate(keys.cert).fingerprint256;
    expect(client.getPeerCertificate().fingerprint256).toBe(of(first));
    relay.setTls(second);
    const other = await echo();
    expect(other.getPeerCertificate().fingerprint256).toBe(of(second));
    client.destroy();
    other.destroy();
    await until(() => ports.every((port) => relay.clientAt(port) === undefined));
    expect([ports.length, failed]).toEqual([2, 0]);
    const plain = connect({ port: socket.port, host: "127.0.0.1" });
    plain.on("error", () => {});
    plain.write("GET / HTTP/1.1\r\n\r\n");
    await until(() => failed === 1);
    relay.stop();
    const late = connect({ port: socket.port, host: "127.0.0.1" });
    expect(await once(late, "error")).toMatchObject([{ code: "ECONNREFUSED" }]);
    server.stop(true);
  },
);

/** A relay in front of a server that handles what it gets, by default by sending it back. */
function openRelay(
  tls: TlsKeys,
  data: (socket: Socket<undefined>, bytes: Buffer) => void = (it, bytes) => void it.write(bytes),
) {
  const host = "127.0.0.1";
  const counts = { failed: 0, closed: 0 };
  const server = Bun.listen<undefined>({
    ...{ hostname: host, port: 0, allowHalfOpen: true },
    socket: { data, close: () => void counts.closed++ },
  });
  const socket = openListeningSocket({ host, port: 0 });
  const onFailedHandshake = () => void counts.failed++;
  const relay = relayTls({ socket, serverPort: server.port, tls, onFailedHandshake });
  const to = { host, port: socket.port };
  return {
    counts,
    to,
    /** Opens a connection that sends nothing. */
    async silent() {
      const client = connect(to);
      client.on("error", () => {});
      await once(client, "connect");
      return client;
    },
    /** Sends "ping" with a client's certificate, and resolves with the answer; "" if none comes. */
    async echo(keys?: TlsKeys) {
      const client = connectTls({ ...to, ...keys, rejectUnauthorized: false });
      let answer = "";
      client.on("error", () => {});
      client.on("data", (bytes) => {
        answer += bytes;
        client.destroy();
      });
      client.write("ping");
      await new Promise((resolve) => client.once("close", resolve));
      return answer;
    },
    [Symbol.dispose]() {
      relay.stop();
      server.stop(true);
    },
  };
}

testWith(missingPrograms("openssl"))(
  "a TLS relay has at most 256 handshakes in progress, and closes the oldest for a new one",
  async () => {
    using relay = openRelay(newKeys());
    const clients: ConnectedSocket[] = [];
    for (let n = 0; n < TLS_HANDSHAKES_MAX; n++) clients.push(await relay.silent());
    await holds(5, () => expect(relay.counts.failed).toBe(0));
    expect(await relay.echo()).toBe("ping");
    await until(() => relay.counts.failed === 1 && clients[0]!.closed);
    expect(clients.filter((it) => it.closed)).toHaveLength(1);
    for (const client of clients) client.destroy();
  },
);

testWith(missingPrograms("openssl"))(
  "a TLS relay closes a client whose handshake takes more than 10 seconds",
  async () => {
    const intervals = spyOn(globalThis, "setInterval");
    using relay = openRelay(newKeys());
    const [sweep] = intervals.mock.calls.at(-1) as unknown as [() => void];
    intervals.mockRestore();
    const before = performance.now();
    const client = await relay.silent();
    // Connections are accepted in their order, so the silent one is open now.
    expect(await relay.echo()).toBe("ping");
    const after = performance.now();
    const clock = spyOn(performance, "now");
    try {
      clock.mockReturnValue(before + 1_000 * TLS_HANDSHAKE_SECONDS_MAX);
      sweep();
      await holds(5, () => expect(relay.counts.failed).toBe(0));
      clock.mockReturnValue(after + 1_000 * TLS_HANDSHAKE_SECONDS_MAX);
      sweep();
    } finally {
      clock.mockRestore();
    }
    await until(() => relay.counts.failed === 1 && client.closed);
  },
);

testWith(missingPrograms("openssl"))(
  "a TLS relay with an authority takes clients with a certificate of that authority alone",
  async () => {
    const [client, stranger] = [newKeys(), newKeys()];
    using relay = openRelay({ ...newKeys(), ca: client.cert });
    expect(await relay.echo(client)).toBe("ping");
    for (const keys of [stranger, undefined]) expect(await relay.echo(keys)).toBe("");
    expect(relay.counts.failed).toBe(2);
  },
);

testWith(missingPrograms("openssl"))(
  "a TLS relay closes the connection of a client whose server resets it",
  async () => {
    using relay = openRelay(newKeys(), (socket) => void socket.terminate());
    expect(await relay.echo()).toBe("");
  },
);

/** Sends a word over TLS, and waits until the server has ended; keeps its own side open. */
async function staying(to: { host: string; port: number }) {
  const options = { ...to, rejectUnauthorized: false, allowHalfOpen: true };
  const client = connectTls(options);
  const answers: string[] = [];
  client.on("error", () => {});
  client.on("data", (bytes) => answers.push(String(bytes)));
  client.write("first");
  await once(client, "end");
  return { client, answers };
}

testWith(missingPrograms("openssl"))(
  "a client of a TLS relay may still send when the server has ended its side",
  async () => {
    const received: string[] = [];
    using relay = openRelay(newKeys(), (socket, bytes) => {
      received.push(String(bytes));
      if (received.length > 1) return;
      socket.write("all");
      socket.shutdown();
    });
    const { client, answers } = await staying(relay.to);
    client.write("second");
    await until(() => received.length === 2);
    expect([received, answers]).toEqual([["first", "second"], ["all"]]);
    client.destroy();
  },
);

testWith(missingPrograms("openssl"))(
  "a TLS relay closes a connection 10 seconds after the server has ended it, if the client does not",
  async () => {
    using relay = openRelay(newKeys(), (socket) => void socket.shutdown());
    const timers = spyOn(globalThis, "setTimeout");
    const { client } = await staying(relay.to);
    const waits = timers.mock.calls.filter(([, ms]) => ms === 1_000 * IDLE_CONNECTION_SECONDS_MAX);
    timers.mockRestore();
    await holds(5, () => expect(relay.counts.closed).toBe(0));
    expect(waits).toHaveLength(1);
    (waits[0]![0] as () => void)();
    await until(() => relay.counts.closed === 1);
    client.destroy();
  },
);

/** A socket that takes a number of bytes, and notes what is done to it. */
function socketOf(room: number) {
  const taken: string[] = [];
  const note = (word: string) => () => void taken.push(word);
  const socket = {
    room,
    write(bytes: Buffer) {
      const part = bytes.subarray(0, socket.room);
      socket.room -= part.length;
      if (part.length > 0) taken.push(part.toString());
      return part.length > 0 || bytes.length === 0 ? part.length : -1;
    },
    pause: note("pause"),
    resume: note("resume"),
    end: note("end"),
    shutdown: note("shutdown"),
    terminate: note("terminate"),
  };
  return { socket: socket as typeof socket & Socket<unknown>, taken };
}

describe("a side of a relay", () => {
  test("keeps what its socket does not take, and pauses the other side meanwhile", () => {
    const [near, far] = [socketOf(4), socketOf(0)];
    const [side, other] = [new RelayedSocket(), new RelayedSocket()];
    other.attach(far.socket, side);
    side.attach(near.socket, other);
    far.taken.length = 0;
    const bytes = Buffer.from("abc");
    side.send(bytes, other);
    expect([near.taken, far.taken]).toEqual([["abc"], []]);
    side.send(bytes, other);
    side.send(Buffer.from("de"), other);
    expect([near.taken, far.taken]).toEqual([
      ["abc", "a"],
      ["pause", "pause"],
    ]);
    near.socket.room = 1;
    side.drained(other);
    expect(far.taken).toEqual(["pause", "pause"]);
    side.finish();
    near.socket.room = 10;
    side.drained(other);
    expect(near.taken).toEqual(["abc", "a", "b", "c", "de", "shutdown"]);
    expect(far.taken).toEqual(["pause", "pause", "resume"]);
  });

  test("sends what came before its socket was open, and closes after it", () => {
    const { socket, taken } = socketOf(10);
    const [side, other] = [new RelayedSocket(), new RelayedSocket()];
    side.send(Buffer.from("early"), other);
    side.finish();
    side.close();
    side.attach(socket, other);
    expect(taken).toEqual(["early", "end"]);
  });

  test("that was terminated before its socket was open terminates it, and sends nothing", () => {
    const { socket, taken } = socketOf(10);
    const [side, other] = [new RelayedSocket(), new RelayedSocket()];
    side.send(Buffer.from("early"), other);
    side.terminate();
    side.attach(socket, other);
    expect(taken).toEqual(["terminate"]);
  });

  describe("that is closed", () => {
    afterEach(() => void jest.useRealTimers());

    test("drops what its socket has not taken after 10 seconds", () => {
      jest.useFakeTimers();
      const { socket, taken } = socketOf(0);
      const [side, other] = [new RelayedSocket(), new RelayedSocket()];
      side.attach(socket, other);
      side.send(Buffer.from("late"), other);
      side.close();
      jest.advanceTimersByTime(1_000 * IDLE_CONNECTION_SECONDS_MAX - 1);
      expect(taken).toEqual([]);
      jest.advanceTimersByTime(1);
      expect(taken).toEqual(["terminate"]);
      socket.room = 10;
      side.drained(other);
      expect(taken).not.toContain("late");
    });

    test("later is left the bytes that it was sent", () => {
      jest.useFakeTimers();
      const { socket, taken } = socketOf(10);
      const [side, other] = [new RelayedSocket(), new RelayedSocket()];
      side.attach(socket, other);
      side.finish();
      side.closeLater();
      jest.advanceTimersByTime(1_000 * IDLE_CONNECTION_SECONDS_MAX - 1);
      expect(taken).toEqual(["shutdown"]);
      jest.advanceTimersByTime(1);
      expect(taken).toEqual(["shutdown", "end"]);
    });

    test("waits no longer once its socket has taken all", () => {
      jest.useFakeTimers();
      const { socket, taken } = socketOf(10);
      const [side, other] = [new RelayedSocket(), new RelayedSocket()];
      side.attach(socket, other);
      side.send(Buffer.from("all"), other);
      side.close();
      jest.advanceTimersByTime(2_000 * IDLE_CONNECTION_SECONDS_MAX);
      expect(taken).toEqual(["all", "end"]);
    });
  });
});
