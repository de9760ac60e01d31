import { expect, test } from "bun:test";
import { inTurn } from "../../src/destinations/in-turn.ts";

test("a delivery that rejects stops neither the next delivery nor the close", async () => {
  const calls: string[] = [];
  const destination = inTurn(
    async (events) => {
      calls.push(`deliver ${events.length}`);
      if (events.length === 0) throw new Error("A fault of the program");
      return { kind: "delivered" };
    },
    () => void calls.push("close"),
  );
  const { signal } = new AbortController();
  const failing = destination.deliver([], signal);
  const next = destination.deliver([{} as never], signal);
  const closed = destination.close();
  await expect(failing).rejects.toThrow("A fault of the program");
  expect(await next).toEqual({ kind: "delivered" });
  await closed;
  expect(calls).toEqual(["deliver 0", "deliver 1", "close"]);
});
