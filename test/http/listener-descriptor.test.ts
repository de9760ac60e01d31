import { expect, test } from "bun:test";
import { inheritedSocket } from "../../src/http/sockets/inherited-socket.ts";
import { descriptorOfListener } from "../../src/http/sockets/listener-descriptor.ts";

test("the descriptor is that of the listener that was opened, among other sockets and files", async () => {
  const open = () => Bun.listen({ port: 0, hostname: "127.0.0.1", socket: { data() {} } });
  const earlier = open();
  let client: Promise<{ end(): void }> | undefined;
  let listener = earlier;
  // A connection that begins meanwhile is a socket, too, and one that does not listen.
  const fd = descriptorOfListener(() => {
    client = Bun.connect({ hostname: "127.0.0.1", port: earlier.port, socket: { data() {} } });
    listener = open();
  });
  expect(inheritedSocket(fd)).toEqual({ fd, host: "127.0.0.1", port: listener.port });
  expect(() => descriptorOfListener(() => {})).toThrow("Cannot find the file descriptor");
  (await client)!.end();
  earlier.stop(true);
  listener.stop(true);
});
