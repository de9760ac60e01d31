import { expect, test } from "bun:test";
import { replayWaits } from "../../../src/api/routes/events/replays.ts";
import { noCounts, type ReplayJob } from "../../../src/pipeline/model/replay-job.ts";
import { scene } from "../status/_scene.ts";

const failure = { since: 1_000, reason: "No route", isDown: false };
const named = (id: string, enabled = true) => ({ id, name: id, enabled });
const events = (id: string, destinationId: string, state = "running") =>
  ({ id, kind: "events", state, destinationId, counts: noCounts }) as unknown as ReplayJob;
const letters = (id: string, destinationId: string | undefined, counts: object) =>
  ({
    id,
    kind: "dead-letters",
    state: "done",
    destinationId,
    counts: { ...noCounts, ...counts },
  }) as unknown as ReplayJob;

/** Tells why these jobs wait; `measured` counts the looks at destinations. */
async function waitsOf(jobs: ReplayJob[], blocked?: string) {
  const destinations = [
    ...["ok", "failing", "down", "suspended", "lagging"].map((id) => named(id)),
    named("paused", false),
  ];
  const lanes = {
    ...{ ok: {}, paused: {}, suspended: {}, lagging: { lagSeconds: 9_000 } },
    ...{ failing: { failure }, down: { failure: { ...failure, isDown: true } } },
  };
  const deps = scene({ destinations, lanes, ...(blocked !== undefined && { blocked }) });
  const asked: string[][] = [];
  Object.assign(deps.catalog.destinations, {
    withIds: (_: string, ids: string[]) => {
      asked.push(ids);
      return destinations.filter(({ id }) => ids.includes(id));
    },
  });
  const linkedTransformation = ({ id }: { id: string }) => (id === "suspended" ? "t" : undefined);
  const revision = { versionId: "v", name: "T", language: "javascript" };
  const code = { linkedTransformation, publishedRevision: () => ({ revision }) };
  Object.assign(deps.catalog, { code });
  const suspension = { transformationVersionId: "v", name: "T", until: 1, reason: "It throws" };
  Object.assign(deps, { suspensions: () => [suspension] });
  return { waits: Object.fromEntries(await replayWaits(deps, "w", jobs)), asked };
}

test("a replay waits while its destination accepts no events, and says why", async () => {
  const ids = ["ok", "failing", "down", "suspended", "paused", "lagging", "gone"];
  const jobs = ids.map((id) => events(`to ${id}`, id));
  const { waits, asked } = await waitsOf([...jobs, events("again", "paused")]);
  expect(waits).toEqual({
    ...{ "to failing": "No route", "to down": "No route" },
    "to suspended": "Its user code is suspended",
    ...{ "to paused": "The destination is disabled", again: "The destination is disabled" },
  });
  expect(asked).toEqual([ids]);
  const full = await waitsOf([events("to ok", "ok")], "The disk is full");
  expect(full.waits).toEqual({ "to ok": "delivery: The disk is full" });
});

test("a replay that has ended waits for nothing, and dead letters until they have an outcome", async () => {
  const some = { moved: 2, delivered: 1 };
  const jobs = [
    ...["done", "cancelled", "failed"].map((state) => events(state, "failing", state)),
    letters("all", "failing", { ...some, failed: 1 }),
    letters("some", "failing", some),
    letters("several", undefined, some),
  ];
  const { waits, asked } = await waitsOf(jobs);
  expect(waits).toEqual({ some: "No route" });
  expect(asked).toEqual([["failing"]]);
});
