import { expect, test } from "bun:test";
import { type CommitSource, GroupCommit } from "../../src/pipeline/ledger/group-commit.ts";
import { quiet } from "../log/support.ts";

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
