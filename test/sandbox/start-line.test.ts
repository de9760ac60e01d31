import { expect, test } from "bun:test";
import fc from "fast-check";
import { StartLine } from "../../src/sandbox/start-line.ts";

/** Starts that end when they are told to. */
function starts(line: StartLine) {
  const begun: string[] = [];
  const ends = new Map<string, (fails: boolean) => void>();
  const all: Promise<unknown>[] = [];
  return {
    begun,
    enter(name: string, losses: number) {
      const start = () => {
        begun.push(name);
        return new Promise<void>((resolve, reject) => {
          ends.set(name, (fails) => (fails ? reject(new Error(name)) : resolve()));
        });
      };
      all.push(line.inTurn(losses, start).catch(() => {}));
    },
    async end(name: string, fails = false) {
      ends.get(name)!(fails);
      await Bun.sleep(0);
    },
  };
}

test("no more guests start at a time than there are places, the others in their order", async () => {
  const { begun, enter, end } = starts(new StartLine(2));
  for (const name of ["a", "b", "c", "d"]) enter(name, 0);
  expect(begun).toEqual(["a", "b"]);
  await end("b");
  expect(begun).toEqual(["a", "b", "c"]);
  await end("a");
  expect(begun).toEqual(["a", "b", "c", "d"]);
});

test("a start that fails gives its place on", async () => {
  const { begun, enter, end } = starts(new StartLine(1));
  for (const name of ["a", "b"]) enter(name, 0);
  await end("a", true);
  expect(begun).toEqual(["a", "b"]);
});

test("who has lost fewest guests is next, whoever came before", async () => {
  const { begun, enter, end } = starts(new StartLine(1));
  enter("first", 0);
  for (const [name, losses] of Object.entries({ x: 7, y: 2, z: 7, good: 0 })) enter(name, losses);
  for (const name of ["first", "good", "y", "x"]) await end(name);
  expect(begun).toEqual(["first", "good", "y", "x", "z"]);
});

test("every place is given back", async () => {
  const entries = fc.array(fc.record({ losses: fc.nat(3), fails: fc.boolean() }));
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), entries, async (places, all) => {
      const line = new StartLine(places);
      let running = 0;
      let most = 0;
      const start = async (fails: boolean) => {
        running += 1;
        most = Math.max(most, running);
        await Promise.resolve();
        running -= 1;
        if (fails) throw new Error("fails");
      };
      await Promise.allSettled(
        all.map(({ losses, fails }) => line.inTurn(losses, () => start(fails))),
      );
      expect(running).toBe(0);
      expect(most).toBe(Math.min(places, all.length));
    }),
  );
});
