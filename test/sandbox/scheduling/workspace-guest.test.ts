import { expect, test } from "bun:test";
import { GuestAdmission } from "../../../src/sandbox/scheduling/guest-admission.ts";
import { GuestLossBackoff } from "../../../src/sandbox/scheduling/guest-loss-backoff.ts";
import type { GuestStarter } from "../../../src/sandbox/scheduling/guest-starter.ts";
import { WorkspaceGuest } from "../../../src/sandbox/scheduling/workspace-guest.ts";

const admission = () =>
  new GuestAdmission<WorkspaceGuest>({
    guestsMax: 1,
    hasMemory: () => true,
    isOverMemory: () => false,
  });

/** Queues works of these sizes, and returns how many of them are in progress at once. */
async function atOnce(sizes: number[]): Promise<number> {
  const begun: (() => void)[] = [];
  const begin = () => new Promise<void>((resolve) => begun.push(resolve));
  // No work asks for a guest.
  const workspace = new WorkspaceGuest(
    {} as GuestStarter,
    admission(),
    "javascript",
    new GuestLossBackoff(1),
  );
  for (const bytes of sizes) workspace.enqueue({ bytes, perform: begin, reject: () => {} });
  const first = begun.length;
  // All are done in the end, whatever their size.
  for (let done = 0; done < sizes.length; done += 1) {
    begun[done]!();
    await Bun.sleep(0);
  }
  expect(begun.length).toBe(sizes.length);
  return first;
}

test.each<[string, number[], number]>([
  ["small ones", Array.from({ length: 20 }, () => 2_000), 8],
  ["large ones", Array.from({ length: 5 }, () => 4 << 20), 2],
  ["small ones behind a large one", [4 << 20, 2_000, 2_000, 2_000], 2],
  ["a large one behind small ones", [2_000, 2_000, 2_000, 4 << 20, 2_000], 3],
  ["works that are small alone and large together", Array.from({ length: 9 }, () => 20_000), 3],
  ["one", [2_000], 1],
])("how many works go to a guest at once: %s", async (_, sizes, expected) => {
  expect(await atOnce(sizes)).toBe(expected);
});
