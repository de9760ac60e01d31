import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { cityDatabase } from "../city-database.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

const sink = startSink();
let server: Server;
let writeKey = "";
let sourceId = "";

beforeAll(async () => {
  const directory = temporaryDirectory();
  await Bun.write(join(directory, "cities.mmdb"), cityDatabase());
  server = await startServer({
    directory,
    flags: ["--geolocation-database", join(directory, "cities.mmdb")],
  });
  ({ writeKey, sourceId } = await route(server, {
    url: sink.url,
    code: `export async function transformEvent(event) {
        const place = await geolocation(event.properties.ip ?? "203.0.113.7");
        return { ...event, city: place?.city?.names?.en ?? "unknown" };
      }`,
  }));
});
afterAll(async () => {
  await server.stop();
  sink.stop();
  removeDirectory(server.directory);
});

test.each([
  ["203.0.113.7", "Ghent"],
  ["198.51.100.1", "unknown"],
])("user code looks %s up: %s", async (ip, city) => {
  const before = sink.events.length;
  await pixel(server, "track", { writeKey, userId: "u", event: "E", "properties.ip": ip });
  await waitFor(() => sink.events.length > before);
  expect(sink.events.at(-1)).toMatchObject({ city });
});

test("the settings of a source add the place and the bot, cut the address and drop bots", async () => {
  const settings = { geoEnrichment: true, bots: "mark", ip: "truncate" };
  const set = (changed: object) =>
    server.api("PUT", `/v2/sources/${sourceId}`, { settings: changed });
  const send = (fields: object) =>
    pixel(server, "track", { writeKey, userId: "u", event: "E", ...fields });
  expect((await set(settings)).status).toBe(200);
  const userAgent = "Mozilla/5.0 (compatible; Googlebot/2.1)";
  const ip = "203.0.113.7";
  const before = sink.events.length;
  await send({ "context.ip": ip, "context.userAgent": userAgent });
  await waitFor(() => sink.events.length > before);
  expect(sink.events.at(-1)).toMatchObject({
    request_ip: "127.0.0.0",
    context: {
      ip,
      geo: { ip, city: "Ghent", country: "" },
      isBot: true,
      bot: { name: "Googlebot" },
    },
  });

  await set({ bots: "drop" });
  await send({ "context.userAgent": userAgent, "properties.n": "1" });
  const person = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
  await send({ "context.userAgent": person, "properties.n": "2" });
  await waitFor(() => sink.events.length > before + 1);
  expect(sink.events.slice(before + 1).map(({ properties }) => properties.n)).toEqual([2]);

  const find = async (property: string) => {
    const { body } = await server.api("GET", `/v2/events/search?property=${property}`);
    return body.events.map(({ event }: any) => event.properties.n);
  };
  // The first event was sent without n.
  expect(await find("context.geo.city=Ghent")).toEqual([undefined]);
  expect(await find("context.isBot=true")).toEqual([1, undefined]);
});

test("an invalid geolocation file stops the start with a message", async () => {
  const wrong = startServer({ flags: ["--geolocation-database", import.meta.path] });
  await expect(wrong).rejects.toThrow("Cannot read the geolocation database");
});
