import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { testsOfTier } from "../tier.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "./server.ts";

/**
 * Tests published code that loops forever or allocates all memory on some events: only these events
 * fail.
 */
describe("hostile code", () => {
  let server: Server;
  const good = startSink();
  const bad = startSink();
  let writeKey = "";
  let goodKey = "";

  beforeAll(async () => {
    server = await startServer();
    ({ writeKey: goodKey } = await route(server, {
      url: good.url,
      code: "export const transformEvent = (event) => event;",
    }));
    ({ writeKey } = await route(server, {
      url: bad.url,
      code: `export function transformEvent(event) {
          if (event.event === "loop") while (true);
          if (event.event === "bomb") {
            const hoard = [];
            for (;;) hoard.push(new Array(100000).fill(Math.random()));
          }
          return event;
        }`,
    }));
  });
  afterAll(async () => {
    good.stop();
    bad.stop();
    await server.stop();
    removeDirectory(server.directory);
  });

  const track = (key: string, event: string, id: number) =>
    pixel(server, "track", { writeKey: key, userId: `u${id}`, event, "properties.id": String(id) });

  // Each costs seconds of CPU; the quick tier has those of the sandbox.
  test.each(testsOfTier(["loop", "bomb"], () => true))(
    "a %s fails only the event that causes it",
    async (attack) => {
      const [goodBefore, badBefore] = [good.events.length, bad.events.length];
      for (let id = 0; id < 20; id++) {
        expect((await track(writeKey, id === 10 ? attack : "fine", id)).status).toBe(200);
        expect((await track(goodKey, "fine", id)).status).toBe(200);
      }
      // Another workspace's events do not wait for the hostile code.
      await waitFor(() => good.events.length === goodBefore + 20, "the good deliveries");
      await waitFor(() => bad.events.length === badBefore + 19, "the 19 others");
      const letters = await waitFor(async () => {
        const { body } = await server.api("GET", "/v2/dead-letters");
        return body.deadLetters.filter((it: any) => it.event.event === attack)[0];
      });
      expect(letters.stage).toBe("transform");
      expect((await fetch(`${server.controlPlane}/ready`)).status).toBe(200);
    },
    300_000,
  );

  test("code that fails every batch is suspended with a reason, and new code runs at once", async () => {
    const { writeKey, transformationId } = await route(server, {
      url: good.url,
      code: `export function transformEvent(event) {
          if (event.event === "live") throw new Error("fails on live events");
          return event;
        }`,
    });
    const suspension = await waitFor(async () => {
      await track(writeKey, "live", 1);
      const { body } = await server.api("GET", "/v2/suspensions");
      return body.suspensions[0];
    });
    expect(suspension).toMatchObject({ name: "Test" });
    expect(suspension.reason).toContain("fails on live events");
    expect(Date.parse(suspension.until)).toBeGreaterThan(Date.now() - 1_000);

    const before = good.events.length;
    const code = "export const transformEvent = (event) => ({ ...event, mended: true });";
    await server.api("POST", `/transformations/${transformationId}?publish=true`, { code });
    await track(writeKey, "live", 2);
    await waitFor(() => good.events.slice(before).some((event) => event.mended));
  }, 300_000);
});
