import { expect, test } from "bun:test";
import { judgeLedgers } from "../../src/cluster/topics/troubles.ts";

const unread = "The topic p.ledgers cannot be read: its leader answers NOT_LEADER";

test("a node whose ledgers work has no trouble", () => {
  expect(judgeLedgers([undefined, undefined], undefined, true)).toEqual({
    trouble: undefined,
    warnings: [],
  });
});

test("ledgers that do not work are a warning with their partitions up to a half of them, and trouble above", () => {
  const ofOne = `The ledger of partition 1 cannot be used here: ${unread}`;
  expect(judgeLedgers([undefined, unread, undefined], undefined, true)).toEqual({
    trouble: undefined,
    warnings: [ofOne],
  });
  const { trouble, warnings } = judgeLedgers(
    [unread, undefined, "is read", unread, undefined, undefined],
    undefined,
    true,
  );
  expect(trouble).toBeUndefined();
  expect(warnings).toEqual([
    `The ledgers of partitions 0, 3 cannot be used here: ${unread}`,
    "The ledger of partition 2 cannot be used here: is read",
  ]);
  expect(judgeLedgers([unread, unread, undefined], undefined, true)).toEqual({
    trouble: unread,
    warnings: [],
  });
});

test("a full disk is a warning once other nodes run the partitions of the node", () => {
  const full = "The ledger cannot be written: the disk of /data is full (0 bytes free)";
  expect(judgeLedgers([full, full, full], full, false)).toEqual({
    trouble: undefined,
    warnings: [
      `${full}; other nodes run its partitions, and it answers nothing about dead letters`,
    ],
  });
});

test("a disk that takes no changes is trouble also while few ledgers have met it", () => {
  const full = "The ledger cannot be written: the disk of /data is full (0 bytes free)";
  expect(judgeLedgers([full, undefined, undefined], full, true)).toEqual({
    trouble: full,
    warnings: [],
  });
});
