import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { connect, createServer, type Server, type Socket } from "node:net";
import { waitFor } from "../e2e/server.ts";
import { freePorts } from "../free-ports.ts";
import { Link } from "./link.ts";

let echo: Server;
let received = "";
let link: Link;
let port: number;
const sockets: Socket[] = [];

beforeAll(async () => {
  const [far = 0, near = 0] = await freePorts(2);
  port = near;
  echo = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      received += chunk;
      socket.write(chunk);
    });
  });
  await new Promise<void>((resolve) => echo.listen(far, "127.0.0.1", resolve));
  const [at, to] = [near, far].map((it) => ({ hostname: "127.0.0.1", port: it }));
  link = await Link.open([{ at: at!, to: to! }]);
});
beforeEach(() => {
  link.heal();
  received = "";
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  link.close();
  echo.close();
});

/** A connection through the link, and what it has got. */
function open() {
  const socket = connect({ host: "127.0.0.1", port });
  sockets.push(socket);
  const got = { text: "", isEnded: false };
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    got.text += chunk;
  });
  socket.on("close", () => {
    got.isEnded = true;
  });
  return { got, send: (text: string) => socket.write(text), end: () => socket.destroy() };
}

/** Resolves when bytes have passed a link without disturbance, so that held ones would have too. */
async function othersPass(): Promise<void> {
  const [at = 0] = await freePorts(1);
  const to = (echo.address() as { port: number }).port;
  const [near, far] = [at, to].map((it) => ({ hostname: "127.0.0.1", port: it }));
  const other = await Link.open([{ at: near!, to: far! }]);
  const socket = connect({ host: "127.0.0.1", port: at });
  await new Promise((resolve) => {
    socket.once("data", resolve);
    socket.write("other");
  });
  socket.destroy();
  other.close();
  received = received.replace("other", "");
}

test("bytes pass in order, also with a delay", async () => {
  const { got, send } = open();
  send("one ");
  link.delayMs = 50;
  send("two ");
  await waitFor(() => got.text === "one two ");
  link.delayMs = 0;
  send("three");
  await waitFor(() => got.text === "one two three");
});

test("held requests do not arrive until the link heals, even when their sender has gone", async () => {
  const { send, end } = open();
  send("before ");
  await waitFor(() => received === "before ");
  link.hold("requests");
  send("during");
  end();
  await othersPass();
  expect(received).toBe("before ");
  link.heal();
  await waitFor(() => received === "before during");
});

test("held responses of requests that arrived come once the link heals", async () => {
  const { got, send } = open();
  link.hold("responses");
  send("hello");
  await waitFor(() => received === "hello");
  await othersPass();
  expect(got.text).toBe("");
  link.heal();
  await waitFor(() => got.text === "hello");
});

test("a refused link ends its connections and new ones", async () => {
  const before = open();
  before.send("hello");
  await waitFor(() => before.got.text === "hello");
  link.refuse();
  await waitFor(() => before.got.isEnded);
  const during = open();
  await waitFor(() => during.got.isEnded);
  link.heal();
  const after = open();
  after.send("again");
  await waitFor(() => after.got.text === "again");
});

test("a torn chunk passes by half, and its connection ends", async () => {
  const { got, send } = open();
  link.tornShare = 1;
  send("12345678");
  await waitFor(() => got.isEnded);
  expect(received).toBe("1234");
});
