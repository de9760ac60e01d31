import { expect, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import { ApiError, messageOf } from "../../src/errors.ts";
import { type CommitSource, GroupCommit } from "../../src/pipeline/ledger/group-commit.ts";
import { ClaimLostError } from "../../src/pipeline/ledger/ledger-claim.ts";
import { quiet } from "../log/support.ts";
import { until } from "../until.ts";

test("the changes of many lanes are written in transactions of 500 lanes, also by a close", async () => {
  const sizes: number[] = [];
  const commits = new GroupCommit<string>({
    async write(changes) {
      sizes.push(changes.length);
    },
    onLost() {},
    logger: quiet,
  });
  const committed: string[] = [];
  const laneOf = (id: string): CommitSource<string> => ({
    // Every other lane has nothing to write, and delays no other.
    collect: () => (Number(id) % 2 === 0 ? id : undefined),
    committed: (change) => void committed.push(change),
    fail() {},
  });
  const ids = Array.from({ length: 2_400 }, (_, n) => String(n));
  for (const id of ids) commits.schedule(laneOf(id));
  await commits.close();
  expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
  expect(committed).toEqual(ids.filter((id) => Number(id) % 2 === 0));
});

/** Commits of lanes whose changes are their names, and what became of them. */
function scene(write: (changes: readonly string[], number: number) => Promise<void>) {
  const told: string[] = [];
  const writes: string[] = [];
  let lost = 0;
  const commits = new GroupCommit<string>({
    write(changes, number) {
      writes.push(`${number}: ${changes.join(" ")}`);
      return write(changes, number);
    },
    onLost() {
      lost += 1;
    },
    logger: quiet,
  });
  const schedule = (name: string, over: Partial<CommitSource<string>> = {}) =>
    commits.schedule({
      collect() {
        told.push(`${name} collected`);
        return name;
      },
      committed: (change) => void told.push(`${change} committed`),
      fail: (error) => void told.push(`${name} failed: ${messageOf(error)}`),
      ...over,
    });
  return { commits, schedule, told, writes, lost: () => lost };
}

/** A write that fails once by this error, and then succeeds. */
function failingOnce(error: Error) {
  const errors = [error];
  return async () => {
    const next = errors.shift();
    if (next !== undefined) throw next;
  };
}

test("a broken invariant in a transaction stops its lanes, and the next transaction has its number", async () => {
  const { commits, schedule, told, writes } = scene(failingOnce(new InvariantError("Broken")));
  schedule("a");
  schedule("b");
  await until(() => told.length === 4);
  expect(told).toEqual(["a collected", "b collected", "a failed: Broken", "b failed: Broken"]);
  expect(commits.isFailing).toBe(false);
  schedule("c");
  await commits.close();
  expect(writes).toEqual(["1: a b", "1: c"]);
  expect(told.slice(4)).toEqual(["c collected", "c committed"]);
});

test("a broken invariant in one lane stops this lane alone", async () => {
  const { commits, schedule, told, writes } = scene(async () => {});
  const broken = (): never => {
    throw new InvariantError("Broken");
  };
  schedule("a", { collect: broken });
  schedule("b", { committed: broken });
  schedule("c");
  await commits.close();
  expect(writes).toEqual(["1: b c"]);
  const ended = told.filter((line) => !line.endsWith("collected"));
  expect(ended).toEqual(["a failed: Broken", "b failed: Broken", "c committed"]);
});

test("a node that has lost the ledger writes nothing more, and reports the loss once", async () => {
  const write = () => Promise.reject(new ClaimLostError(undefined));
  const { commits, schedule, told, writes, lost } = scene(write);
  expect(commits.isClosed).toBe(false);
  schedule("a");
  await until(() => commits.isClosed);
  commits.abandon();
  schedule("b");
  await commits.close();
  expect([writes, lost(), told]).toEqual([["1: a"], 1, ["a collected"]]);
});

test("an abandoned ledger collects none of the changes that were scheduled", async () => {
  const { commits, schedule, told, writes, lost } = scene(async () => {});
  schedule("a");
  commits.abandon();
  await commits.close();
  expect([writes, lost(), told]).toEqual([[], 1, []]);
});

test.each([
  ["a full disk", new Error("No space left on device")],
  ["brokers that do not answer", new ApiError("unavailable", "No brokers")],
])(
  "a close writes again what could not be written for %s, and then what came meanwhile",
  async (_, error) => {
    const { commits, schedule, told, writes } = scene(failingOnce(error));
    expect(commits.isFailing).toBe(false);
    schedule("a");
    await until(() => commits.isFailing);
    schedule("b");
    expect(told).toEqual(["a collected"]);
    await commits.close();
    expect(writes).toEqual(["1: a", "1: a", "2: b"]);
    expect([commits.isFailing, commits.isClosed]).toEqual([false, true]);
    schedule("c");
    await commits.close();
    expect(told.slice(1)).toEqual(["a committed", "b collected", "b committed"]);
  },
);

test("a close gives up after one more failure, and writes no later change", async () => {
  const { commits, schedule, told, writes } = scene(() => Promise.reject(new Error("EIO")));
  schedule("a");
  await until(() => commits.isFailing);
  schedule("b");
  await commits.close();
  expect([writes, told]).toEqual([["1: a", "1: a"], ["a collected"]]);
  expect(commits.isFailing).toBe(true);
});

test("a lane that cannot be collected delays no other, and follows once it can", async () => {
  const { commits, schedule, told, writes } = scene(async () => {});
  let isReadable = false;
  const collect = () => {
    if (!isReadable) throw new ApiError("unavailable", "The store is being reopened");
    return "a";
  };
  schedule("a", { collect });
  schedule("b", {
    committed() {
      told.push("b committed");
      isReadable = true;
    },
  });
  await until(() => told.includes("a committed"));
  expect(writes).toEqual(["1: b", "2: a"]);
  // During a close, there is no later time.
  isReadable = false;
  schedule("a", { collect });
  await commits.close();
  expect(writes).toHaveLength(2);
});

test("changes that come while a transaction is written are written together afterwards", async () => {
  const first = Promise.withResolvers<void>();
  const { commits, schedule, writes } = scene((_, number) =>
    number === 1 ? first.promise : Promise.resolve(),
  );
  schedule("a");
  await until(() => writes.length === 1);
  schedule("b");
  schedule("c");
  first.resolve();
  await commits.close();
  expect(writes).toEqual(["1: a", "2: b c"]);
});
