import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Socket } from "bun";
import { openListeningSocket } from "../../src/http/listening-socket.ts";
import { relayTls } from "../../src/http/tls/relay.ts";
import { RelayedSocket } from "../../src/http/tls/relayed-socket.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { until } from "../until.ts";
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
});
