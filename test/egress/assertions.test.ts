import { expect, test } from "bun:test";
import { createAddressRules } from "../../src/egress/address-rules.ts";
import { IdleConnections } from "../../src/egress/idle-connections.ts";
import { ReceiverConnection } from "../../src/egress/receiver-connection.ts";
import { ResponseReader } from "../../src/egress/response-reader.ts";
import { openSocket } from "../../src/egress/socket.ts";
import { RawSink } from "./sink.ts";

const allow = (...cidrs: string[]) => createAddressRules(cidrs);

test.each(["127.0.0.1", "localhost", "::ffff:10.0.0.1", "169.254.169.254"])(
  "no socket is opened to %s, which the address rules forbid",
  (address) => {
    const open = () => openSocket({ address, port: 1, rules: allow() }, undefined, () => {});
    expect(open).toThrow("Broken invariant: A socket is opened only to an address");
  },
);

test("a connection refuses a second request before the first response", async () => {
  const sink = new RawSink(() => {});
  const port = await sink.listen();
  const endpoint = { address: "127.0.0.1", port, rules: allow("127.0.0.0/8") };
  const connection = new ReceiverConnection(endpoint, "a", () => {});
  const first = connection.send([Buffer.from("a")], new ResponseReader("POST", 10));
  const second = connection.send([Buffer.from("b")], new ResponseReader("POST", 10));
  await expect(second).rejects.toThrow("A connection carries one request at a time");
  connection.destroy(new Error("The test has ended"));
  await expect(first).rejects.toThrow("The test has ended");
  sink.close();
});

test("idle connections beyond the bound fail the request that keeps one more", () => {
  const idle = new IdleConnections(1);
  const connection = (key: string) => {
    const endpoint = { address: "127.0.0.1", port: 1, rules: allow("0.0.0.0/0") };
    const open = new ReceiverConnection(endpoint, key, () => {});
    open.destroy();
    // A connection that stays among the idle ones although it was destroyed.
    open.destroy = () => {};
    return open;
  };
  idle.keep(connection("a"));
  expect(() => idle.keep(connection("b"))).toThrow("Idle connections never exceed their bound");
  idle.close();
});
