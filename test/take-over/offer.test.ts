import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import { closeSync, fstatSync, openSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ListeningSocket, openListeningSocket } from "../../src/http/listening-socket.ts";
import { isListening } from "../../src/http/sockets/inherited-socket.ts";
import {
  closeSockets,
  duplicates,
  type PlaneSockets,
  TAKE_OVER_MESSAGE_BYTES_MAX,
} from "../../src/take-over/messages.ts";
import { type Offer, type OfferOptions, offerSockets } from "../../src/take-over/offer.ts";
import { takeOver } from "../../src/take-over/take-over.ts";
import { connectUnix, receiveOn, sendOn } from "../../src/take-over/unix-socket.ts";
import { removeDirectory, temporaryDirectory, waitFor } from "../e2e/server.ts";
import { listeningLogger, quiet } from "../log/support.ts";
import { holds } from "../until.ts";

const directory = temporaryDirectory();
const listening = () => openListeningSocket({ host: "127.0.0.1", port: 0 });
const [data, control] = [listening(), listening()];
afterAll(() => {
  closeSockets({ "data-plane": data, "control-plane": control });
  removeDirectory(directory);
});

let offer: Offer;
let lines: { msg: string }[];
const taken: PlaneSockets[] = [];
const channels: number[] = [];
let made = 0;
let path: string;
const mask = process.umask();
const any = { host: "127.0.0.1", port: 0 };

function open(more: Partial<OfferOptions> = {}): void {
  const { logger, lines: logged } = listeningLogger();
  lines = logged;
  path = join(directory, `take-over-${made++}`);
  const sockets = { "data-plane": data, "control-plane": control };
  const settings = { "data-plane": any, "control-plane": { host: "127.0.0.1", port: 8081 } };
  offer = offerSockets({ path, version: "1.0", sockets, settings, logger, ...more });
}

async function succeed(settings: OfferOptions["settings"] = { "data-plane": any }) {
  const result = await takeOver({ path, version: "2.0", settings });
  taken.push(result?.sockets ?? {});
  return result;
}

/** Connects as a successor that speaks for itself. */
function dial(...messages: string[]): number {
  const fd = connectUnix(path, "stream");
  channels.push(fd);
  for (const message of messages) sendOn(fd, Buffer.from(`${message}\n`));
  return fd;
}

/** Reads a connection up to its end. */
async function ended(fd: number): Promise<string> {
  let text = "";
  for (;;) {
    const received = await waitFor(() => receiveOn(fd), `the end after "${text}"`);
    if (received.bytes.length === 0) return text;
    text += received.bytes.toString();
  }
}

afterEach(() => {
  offer.close();
  for (const sockets of taken.splice(0)) closeSockets(sockets);
  for (const fd of channels.splice(0)) closeSync(fd);
});

describe("a server that takes the sockets over", () => {
  test("says once that it serves, and later touches no descriptor of its own", async () => {
    open();
    const successor = (await succeed())!;
    successor.serving();
    // One of these gets the number of the connection that is closed now.
    const files = Array.from({ length: 20 }, () => openSync(join(directory, "file"), "a"));
    successor.serving();
    for (const fd of files) {
      expect(fstatSync(fd).size).toBe(0);
      closeSync(fd);
    }
    expect(await (await offer.asked).isServing).toBe(true);
  });

  test("gets those of its settings, and learns when the stores are closed", async () => {
    open();
    const successor = (await succeed())!;
    expect(successor.version).toBe("1.0");
    expect(Object.keys(successor.sockets)).toEqual(["data-plane"]);
    const socket = successor.sockets["data-plane"] as ListeningSocket;
    expect(socket.port).toBe(data.port);
    expect(socket.fd).not.toBe(data.fd);
    expect(isListening(socket.fd)).toBe(true);

    const old = await offer.asked;
    let isReleased = false;
    const released = successor.released().then(() => {
      isReleased = true;
    });
    await holds(1, () => expect(isReleased).toBe(false));
    old.release();
    await released;
    successor.serving();
    expect(await old.isServing).toBe(true);
    expect(lines).toMatchObject([{ version: "2.0", msg: "another server takes the sockets over" }]);
  });

  const others = [
    { host: "127.0.0.2", port: 0 },
    { host: "127.0.0.1", port: 1 },
  ];
  test.each(others)(
    "closes a socket that its settings do not name: $host:$port",
    async (address) => {
      open();
      const before = listeningSockets();
      const successor = await succeed({ "data-plane": address });
      expect(successor?.sockets).toEqual({});
      // The offer has ended.
      expect(listeningSockets()).toBe(before - 1);
    },
  );

  test("keeps no file open", async () => {
    open();
    const before = readdirSync("/proc/self/fd").length;
    (await succeed({}))?.serving();
    await waitFor(() => readdirSync("/proc/self/fd").length < before, "fewer open files");
  });

  test("gives up when the running server does not answer in time", async () => {
    open();
    offer.close();
    const silent = Bun.listen({ unix: path, socket: { data() {} } });
    const clock = spyOn(performance, "now");
    try {
      let now = 0;
      clock.mockImplementation(() => {
        now += 4_000;
        return now;
      });
      await expect(succeed()).rejects.toThrow("The running server does not answer");
    } finally {
      clock.mockRestore();
      silent.stop(true);
    }
  });

  test("that ends before it serves leaves the running server going on", async () => {
    open();
    const fd = dial('{"type":"want","version":"2.0"}');
    const old = await offer.asked;
    closeSync(channels.splice(channels.indexOf(fd), 1)[0]!);
    expect(await old.isServing).toBe(false);
  });

  test("may ask once: a second server finds none to take over from", async () => {
    open();
    await succeed();
    expect(await succeed()).toBeUndefined();
  });

  test("starts without sockets where no server runs", async () => {
    open();
    offer.close();
    expect(await succeed()).toBeUndefined();
    path = join(directory, "missing");
    expect(await succeed()).toBeUndefined();
  });

  test("fails where the path is no socket of a server", async () => {
    open();
    path = join(directory, "file", "take-over");
    writeFileSync(join(directory, "file"), "");
    await expect(succeed()).rejects.toThrow("Cannot reach the running server");
  });
});

/** Number of sockets of this process that listen. */
function listeningSockets(): number {
  return readdirSync("/proc/self/fd").filter((fd) => isListening(Number(fd))).length;
}

describe("a server that offers its sockets", () => {
  test("is reached by its own user alone", () => {
    open();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(process.umask()).toBe(mask);
  });

  test("replaces the socket of a server that was killed", async () => {
    open();
    const later = { path, version: "1.1", sockets: {}, settings: {} };
    const other = offerSockets({ ...later, logger: quiet });
    try {
      expect((await succeed())?.version).toBe("1.1");
    } finally {
      other.close();
    }
  });

  test("serves without the offer where it cannot listen", () => {
    open({ path: join(directory, "missing", "take-over") });
    expect(lines).toMatchObject([{ level: 40, reason: expect.any(String) }]);
    expect(lines[0]?.msg).toContain("cannot offer the sockets to another server");
  });

  test("keeps them with a reason", async () => {
    open({ refusal: "Expected a rest" });
    await expect(succeed()).rejects.toThrow(
      "The running server keeps its sockets: Expected a rest",
    );
    await expect(succeed()).rejects.toThrow(
      "The running server keeps its sockets: Expected a rest",
    );
  });

  test("hands them to one of two servers that ask at the same time", async () => {
    open();
    const before = readdirSync("/proc/self/fd").length;
    const [first, second] = [dial(), dial()];
    const isAccepted = () => readdirSync("/proc/self/fd").length >= before + 4;
    await waitFor(isAccepted, "both ends of two connections");
    const want = '{"type":"want","version":"2.0"}\n';
    sendOn(first, Buffer.from(want));
    await offer.asked;
    const answer = await waitFor(() => receiveOn(first), "the sockets");
    for (const descriptor of answer.descriptors) closeSync(descriptor);
    sendOn(second, Buffer.from(want));
    sendOn(first, Buffer.from('{"type":"serving"}\n'));
    await (await offer.asked).isServing;
    expect(receiveOn(second)).toBeUndefined();
  });

  test("believes no server that serves without having asked", async () => {
    open();
    const stranger = dial('{"type":"serving"}');
    const successor = (await succeed())!;
    const old = await offer.asked;
    sendOn(stranger, Buffer.from('{"type":"serving"}\n'));
    successor.serving();
    expect(await old.isServing).toBe(true);
  });

  test("reads a message that comes in pieces", async () => {
    open();
    const fd = dial();
    sendOn(fd, Buffer.from('{"type":"want",'));
    await Bun.sleep(1);
    sendOn(fd, Buffer.from('"version":"2.0"}\n'));
    await offer.asked;
    const answer = await waitFor(() => receiveOn(fd), "the sockets");
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({
      type: "sockets",
      version: "1.0",
      sockets: [
        { plane: "data-plane", setting: any, port: data.port },
        { plane: "control-plane", setting: { port: 8081 }, port: control.port },
      ],
    });
    for (const descriptor of answer.descriptors) closeSync(descriptor);
    (await offer.asked).release();
    const released = await waitFor(() => receiveOn(fd), "the release");
    expect(released.bytes.toString()).toBe('{"type":"released"}\n');
  });

  test("hears no other user", async () => {
    open();
    const user = spyOn(process, "getuid" as never) as ReturnType<typeof spyOn>;
    user.mockReturnValue(12_345 as never);
    try {
      const fd = dial();
      expect(await ended(fd)).toBe("");
    } finally {
      user.mockRestore();
    }
  });

  const faults = [
    ["a long message", "x".repeat(TAKE_OVER_MESSAGE_BYTES_MAX), "Expected a short message"],
    ["a message that is no JSON", "want", "JSON"],
  ] as const;
  test.each(faults)("ends the connection of %s", async (_, message, reason) => {
    open();
    expect(await ended(dial(message))).toBe("");
    expect(lines).toMatchObject([{ reason: expect.stringContaining(reason) }]);
    expect(lines[0]?.msg).toBe("sockets not handed over");
    expect((await succeed())?.version).toBe("1.0");
  });
});

test("a running server that ends, answers at length or sends no sockets is named in the error", async () => {
  path = join(directory, "false");
  const answers = [
    ["", "The running server ended before it handed its sockets over"],
    [`${"x".repeat(TAKE_OVER_MESSAGE_BYTES_MAX + 1)}`, "The running server ended before"],
    ['{"type":"released"}\n', "Expected sockets, got released"],
    [
      '{"type":"sockets","version":"1","sockets":[{"plane":"data-plane","port":1}]}\n',
      "The running server sent no data-plane socket",
    ],
  ] as const;
  for (const [answer, message] of answers) {
    const listener = Bun.listen({
      unix: path,
      socket: {
        data(socket) {
          if (answer === "") socket.end();
          else socket.write(answer);
        },
      },
    });
    try {
      await expect(succeed()).rejects.toThrow(message);
    } finally {
      listener.stop(true);
    }
  }
});

test("duplicates of sockets leave out those that are missing", () => {
  const copies = duplicates({ "data-plane": data, "control-plane": undefined });
  expect(Object.keys(copies)).toEqual(["data-plane"]);
  expect(copies["data-plane"]).toMatchObject({ port: data.port });
  closeSockets(copies);
  expect(isListening(copies["data-plane"]!.fd)).toBe(false);
  expect(isListening(data.fd)).toBe(true);
});
