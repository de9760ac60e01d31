import { expect, test } from "bun:test";
import { connect, createServer } from "node:net";
import { withTimeLimit } from "../../src/concurrency/time-limit.ts";

const late = () => new Error("late");

test("a result, an error and the end of the time settle the promise", async () => {
  expect(await withTimeLimit(Promise.resolve(1), 60_000, late)).toBe(1);
  const failed = withTimeLimit(Promise.reject(new Error("no")), 60_000, late);
  expect(await failed.catch(({ message }) => message)).toBe("no");
  const never = withTimeLimit(new Promise(() => {}), 1, late);
  expect(await never.catch(({ message }) => message)).toBe("late");
});

test("an answer that arrived while the process stood still counts", async () => {
  const ended = Promise.withResolvers<unknown>();
  const server = createServer((socket) => {
    socket.write("answer");
    const answer = new Promise((resolve) => client.once("data", resolve));
    ended.resolve(withTimeLimit(answer, 1, late).catch((error) => error));
    Bun.sleepSync(20);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const client = connect(port, "127.0.0.1");
  expect(String(await ended.promise)).toBe("answer");
  client.destroy();
  server.close();
});
