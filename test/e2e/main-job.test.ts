import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "./server.ts";

/** Main job of pixelmill over real sockets: accept pixels, run user code, deliver events. */
describe("1,000 pixels of 50 users", () => {
  const EVENTS = 1_000;
  const USERS = 50;
  let server: Server;
  const sink = startSink();
  let ids: Awaited<ReturnType<typeof route>>;

  beforeAll(async () => {
    server = await startServer();
    await server.api("POST", "/libraries?publish=true", {
      name: "Money",
      language: "javascript",
      code: "export const cents = (amount) => Math.round(amount * 100);",
    });
    ids = await route(server, {
      url: sink.url,
      code: `import { cents } from "money";
        export function transformEvent(event, metadata) {
          if (event.properties.skip) return null;
          if (event.properties.fail) throw new Error("asked to fail");
          event.properties.cents = cents(event.properties.revenue);
          event.context.source = metadata(event).sourceName;
          return event.properties.twice ? [event, { ...event, copy: true }] : event;
        }`,
    });
  });
  afterAll(async () => {
    sink.stop();
    await server.stop();
    removeDirectory(server.directory);
  });

  test("each pixel is answered, transformed and delivered in the order of its user", async () => {
    const send = async (user: number) => {
      for (let index = user; index < EVENTS; index += USERS) {
        const response = await pixel(server, "track", {
          writeKey: ids.writeKey,
          userId: `user-${user}`,
          event: "Bought",
          "properties.index": String(index),
          "properties.revenue": (index / 100).toFixed(2),
          ...(index % 10 === 3 && { "properties.skip": "yes" }),
          ...(index % 10 === 5 && { "properties.fail": "yes" }),
          ...(index % 10 === 7 && { "properties.twice": "yes" }),
        });
        expect(response.status).toBe(200);
        expect(response.headers.get("content-type")).toBe("image/gif");
        expect((await response.arrayBuffer()).byteLength).toBe(43);
      }
    };
    await Promise.all(Array.from({ length: USERS }, (_, user) => send(user)));

    // One of ten events is dropped, one fails, one becomes two.
    const expected = (EVENTS / 10) * 9;
    await waitFor(() => sink.events.length >= expected, `${expected} deliveries`);
    expect(sink.events.length).toBe(expected);

    for (let user = 0; user < USERS; user++) {
      const own = sink.events.filter((event) => event.userId === `user-${user}`);
      const indexes = own.map((event) => event.properties.index);
      expect(indexes).toEqual(indexes.toSorted((a: number, b: number) => a - b));
    }
    for (const event of sink.events) {
      expect(event.properties.cents).toBe(event.properties.index);
      expect(event.context.source).toBe("Website");
      expect(event).not.toHaveProperty("writeKey");
    }
  }, 300_000);

  test("events whose code failed are dead letters with message, line and column", async () => {
    const letters = await waitFor(async () => {
      const { body } = await server.api("GET", "/v2/dead-letters?count=1000");
      return body.deadLetters?.length >= EVENTS / 10 ? body.deadLetters : undefined;
    });
    expect(letters).toHaveLength(EVENTS / 10);
    expect(letters[0].reason).toContain("asked to fail");
    expect(letters[0]).toMatchObject({ stage: "transform", line: 4 });
  });

  test("a new revision is used from the next batch on", async () => {
    const update = await server.api(
      "POST",
      `/transformations/${ids.transformationId}?publish=true`,
      { code: 'export const transformEvent = (event) => ({ ...event, revision: "second" });' },
    );
    expect(update.status).toBe(200);
    const before = sink.events.length;
    const query = { writeKey: ids.writeKey, anonymousId: "later", name: "Home" };
    expect((await pixel(server, "page", query)).status).toBe(200);
    await waitFor(() => sink.events.length > before);
    expect(sink.events.at(-1)).toMatchObject({ revision: "second", type: "page", name: "Home" });
  });

  test("code that fails its publish test changes nothing", async () => {
    const broken = await server.api(
      "POST",
      `/transformations/${ids.transformationId}?publish=true`,
      { code: "export function transformEvent(event) {\n  return event.nothing.at.all;\n}" },
    );
    expect(broken.status).toBe(400);
    expect(broken.body.details[0]).toMatchObject({ line: 2 });
    const before = sink.events.length;
    await pixel(server, "page", { writeKey: ids.writeKey, anonymousId: "after" });
    await waitFor(() => sink.events.length > before);
    expect(sink.events.at(-1)).toMatchObject({ revision: "second" });
  });
});
