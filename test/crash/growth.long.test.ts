import { expect } from "bun:test";
import { brokersMissing } from "../cluster/brokers.ts";
import { testWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { type Arrival, judge } from "../soak/oracle.ts";
import { judged } from "./crash.ts";
import { Load } from "./load.ts";
import { Site } from "./site.ts";

const BEFORE = 12;
const AFTER = 48;
const PIXELS_MIN = 500;
const OUT_OF_ORDER = /\d+ out of order/;

testWith(brokersMissing)(
  "a cluster grows from 12 to 48 partitions under load: no event is lost or doubled, and each user's events keep their order before it and after it",
  async () => {
    const site = await Site.open({ nodes: 2, brokers: 1, partitions: BEFORE });
    try {
      const load = new Load(site, { users: 24, pixelsPerSecond: 60 });
      await load.goesOn();
      const users = Array.from({ length: 24 }, (_, index) => `u${index}`);
      const marks = () => new Map(users.map((user) => [user, load.pixels.count(user)]));
      const begun = marks();
      for (const node of site.nodes) {
        node.flags[node.flags.indexOf("--cluster-partitions") + 1] = String(AFTER);
        await node.stop();
        await node.start();
      }
      for (const node of site.nodes) {
        await waitFor(async () => {
          const { body } = await node.api("GET", "/v2/cluster");
          const owned = body?.partitions?.filter((it: any) => it.node !== undefined) ?? [];
          return owned.length === AFTER && (await node.api("GET", "/ready")).status === 200;
        }, `${AFTER} partitions to run`);
      }
      await load.goesOn();
      const grown = marks();
      await load.goesOn();
      await waitFor(() => load.pixels.acknowledged >= PIXELS_MIN, "enough pixels");
      await load.stop();
      await site.drain();
      await load.readEverywhere();
      // `judged` replays the dead letters, whose events then arrive after later ones.
      site.arrivals.read();
      const arrived = [...site.arrivals.all];
      const { broken, verdict } = await judged(site, load);
      expect(broken.filter((it) => !OUT_OF_ORDER.test(it))).toEqual([]);
      expect(verdict.owed).toBeGreaterThanOrEqual(PIXELS_MIN);
      // A user's events may be in two partitions between the two marks.
      const disorder = (isOf: (it: Arrival) => boolean) =>
        judge(load.pixels, "u", true, arrived.filter(isOf), new Map()).faults["out of order"];
      expect(disorder(({ user, number }) => number < begun.get(user)!)).toBeUndefined();
      expect(disorder(({ user, number }) => number >= grown.get(user)!)).toBeUndefined();
    } finally {
      await site.close();
    }
  },
  600_000,
);
