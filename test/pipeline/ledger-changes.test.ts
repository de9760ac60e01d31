import { describe, expect, test } from "bun:test";
import type { JobOutcomes } from "../../src/pipeline/ledger/job-failures.ts";
import type { JobTables } from "../../src/pipeline/ledger/job-tables.ts";
import {
  ClaimLostError,
  LedgerClaims,
  type LedgerOwner,
} from "../../src/pipeline/ledger/ledger-claim.ts";
import type { RequeuedLetters } from "../../src/pipeline/ledger/requeued-letters.ts";
import {
  dropRequeued,
  type SettledLetter,
  settleRequeued,
} from "../../src/pipeline/ledger/settle-requeued.ts";
import type { NewLetter } from "../../src/pipeline/model/dead-letter.ts";
import { noCounts } from "../../src/pipeline/model/replay-job.ts";
import type { Store } from "../../src/store/store.ts";

describe("the claim of a ledger", () => {
  /** Claims in a table of one row. */
  function claimsOf() {
    let row: LedgerOwner | undefined;
    const table = {
      get: () => row,
      put: (_: string, owner: LedgerOwner) => {
        row = owner;
      },
    };
    return new LedgerClaims({ table: () => table } as unknown as Store);
  }

  test("is that of the node which claimed it last", () => {
    const claims = claimsOf();
    expect(claims.owner()).toBeUndefined();
    expect(() => claims.expect("1")).toThrow("Expected a ledger of this node, got one of no node");
    claims.write("one", "1");
    expect(claims.expect("1")).toEqual({ node: "one", claim: "1", commits: 0 });
    claims.write("other", "2");
    expect(() => claims.expect("1")).toThrow(ClaimLostError);
    expect(() => claims.expect("1")).toThrow("got one of other");
    let changes = 0;
    const change = () => {
      changes += 1;
    };
    expect(() => claims.run("1", change)).toThrow(ClaimLostError);
    expect(() => claims.applyOnce("1", 1, change)).toThrow(ClaimLostError);
    expect(changes).toBe(0);
    claims.run("2", change);
    expect(changes).toBe(1);
  });

  test("has each commit applied once, in the order of their numbers", () => {
    const claims = claimsOf();
    claims.write("one", "1");
    const applied: number[] = [];
    for (const number of [1, 1, 2, 3, 2, 3]) {
      claims.applyOnce("1", number, () => applied.push(number));
    }
    expect(applied).toEqual([1, 2, 3]);
    expect(claims.owner()).toEqual({ node: "one", claim: "1", commits: 3 });
    // A commit that fails is not counted.
    const fail = () => {
      throw new Error("No");
    };
    expect(() => claims.applyOnce("1", 4, fail)).toThrow("No");
    claims.applyOnce("1", 4, () => applied.push(4));
    expect(applied.at(-1)).toBe(4);
    claims.write("one", "2");
    claims.applyOnce("2", 1, () => applied.push(1));
    expect(applied.at(-1)).toBe(1);
  });
});

describe("requeued letters with an outcome", () => {
  /** Requeued letters of one destination, and the outcomes that jobs get. */
  function rig(...ids: string[]) {
    const stored = new Set(ids);
    const requeued = {
      has: (destinationId: string, id: string) => destinationId === "d" && stored.has(id),
      remove: (_: string, id: string) => stored.delete(id),
      some: () =>
        [...stored].map((id) => ({
          letter: { id, workspaceId: "w" },
          replayedAt: 1,
          jobId: `job of ${id}`,
        })),
    } as unknown as RequeuedLetters;
    const settled: Record<string, Omit<JobOutcomes, "workspaceId">> = {};
    const jobs = {
      settleLetters(id: string, { workspaceId, ...outcomes }: JobOutcomes) {
        settled[`${workspaceId} ${id}`] = outcomes;
      },
    } as unknown as JobTables;
    return { requeued, jobs, stored, settled };
  }
  const letter = (id: string, outcome: SettledLetter["outcome"], more = {}): SettledLetter => ({
    ...{ id, workspaceId: "w", jobId: "job", outcome },
    ...more,
  });

  test("are removed, and counted once by their jobs", () => {
    const { requeued, jobs, stored, settled } = rig("a", "b", "c", "e", "f", "kept");
    const deadLetter = { destinationId: "d", stage: "deliver", reason: "No" } as NewLetter;
    const all = [
      letter("a", "delivered"),
      letter("b", "delivered"),
      letter("c", "failed", { deadLetter }),
      letter("gone", "dropped"),
      letter("e", "dropped", { jobId: "other" }),
      letter("f", "delivered", { jobId: undefined }),
    ];
    settleRequeued(requeued, jobs, { destinationId: "d", settled: all });
    expect([...stored]).toEqual(["kept"]);
    expect(settled).toEqual({
      "w job": {
        counts: { ...noCounts, delivered: 2, failed: 1 },
        failures: [{ groupId: expect.stringMatching(/^d\./), reason: "No", count: 1 }],
      },
      "w other": { counts: { ...noCounts, dropped: 1 }, failures: [] },
    });
    expect(Object.values(noCounts)).toEqual([0, 0, 0, 0, 0]);
  });

  test("of one reason are one failure of their job", () => {
    const { requeued, jobs, settled } = rig("a", "b");
    const deadLetter = { destinationId: "d", stage: "deliver", reason: "No" } as NewLetter;
    const all = ["a", "b"].map((id) => letter(id, "failed", { deadLetter }));
    settleRequeued(requeued, jobs, { destinationId: "d", settled: all });
    expect(settled["w job"]!.failures).toMatchObject([{ reason: "No", count: 2 }]);
  });

  test("are dropped with their destination, and their jobs count them as discarded", () => {
    const { requeued, jobs, stored, settled } = rig("a", "b");
    expect(dropRequeued(requeued, jobs, "d")).toBe(2);
    expect([...stored]).toEqual([]);
    const discarded = { counts: { ...noCounts, discarded: 1 }, failures: [] };
    expect(settled).toEqual({ "w job of a": discarded, "w job of b": discarded });
    expect(dropRequeued(requeued, jobs, "d")).toBe(0);
  });
});
