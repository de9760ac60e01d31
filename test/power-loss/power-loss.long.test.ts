import { expect } from "bun:test";
import { testWith } from "../counterpart.ts";
import { runSeed } from "../seed.ts";
import { lacks } from "./disk.ts";
import { powerLoss } from "./power-loss.ts";

const reason = lacks("ext4");

/** A short form of `npm run power-loss`. */
testWith(reason)(
  "acknowledged pixels and changes survive a power loss, whatever the disk has not flushed",
  async () => {
    const report = await powerLoss({
      ...{ fileSystem: "ext4", states: 8, seconds: 6, seed: runSeed, onState() {} },
    });
    expect({ seed: report.seed, faults: report.faults }).toEqual({ seed: report.seed, faults: [] });

    // The run had data to lose.
    expect(report.states).toBeGreaterThanOrEqual(5);
    expect(report.owedPixels).toBeGreaterThan(0);
    expect(report.owedChanges).toBeGreaterThan(0);
    expect(report.pendingWrites).toBeGreaterThan(0);
  },
  900_000,
);
