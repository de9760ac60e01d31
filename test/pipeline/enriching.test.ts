import { describe, expect, test } from "bun:test";
import type { SourceSettings } from "../../src/catalog/source-settings.ts";
import { botName } from "../../src/pipeline/enriching/bots.ts";
import { createEnrichedEvents } from "../../src/pipeline/enriching/enrich.ts";
import { createPlaces } from "../../src/pipeline/enriching/places.ts";

const GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36";

const ghent = {
  city: { names: { en: "Ghent" } },
  country: { iso_code: "BE" },
  subdivisions: [{ names: { en: "Flanders" } }],
  postal: { code: "9000" },
  location: { latitude: 51.05, longitude: 3.7167, time_zone: "Europe/Brussels" },
};
const lookup = (ip: string) => (ip.startsWith("203.0.113.") ? ghent : null);
const geo = (ip: string) => ({
  ...{ ip, city: "Ghent", country: "BE", region: "Flanders", postal: "9000" },
  ...{ location: "51.050000,3.716700", timezone: "Europe/Brussels" },
});

/** Returns the delivered form of an event, given as JSON text, of a source with these settings. */
function enriched(
  json: string,
  settings?: Partial<SourceSettings>,
): { text: string; isDropped?: boolean } {
  const eventOf = createEnrichedEvents<{ sourceId: string }>({
    eventOf: () => ({ json: Buffer.from(json), user: "u", userId: "u", anonymousId: "" }),
    live: { topology: () => 1, sourceById: () => (settings ? { settings } : {}) as never },
    place: createPlaces(lookup),
  });
  const { json: bytes, isDropped } = eventOf({ sourceId: "s" });
  return { text: Buffer.from(bytes).toString(), ...(isDropped && { isDropped }) };
}

const parsed = (json: object, settings: Partial<SourceSettings>) =>
  JSON.parse(enriched(JSON.stringify(json), settings).text);

describe("an event of a bot", () => {
  const event = { type: "page", context: { userAgent: GOOGLEBOT, page: {} }, properties: {} };

  test("is delivered as it came by default", () => {
    for (const settings of [undefined, {}, { ip: "drop" as const }]) {
      expect(enriched(JSON.stringify(event), settings)).toEqual({ text: JSON.stringify(event) });
    }
  });

  test("gets isBot and the bot's name when bots are marked", () => {
    const marked = { isBot: true, bot: { name: "Googlebot" } };
    expect(parsed(event, { bots: "mark" })).toEqual({
      ...event,
      context: { ...event.context, ...marked },
    });
  });

  test("is dropped when bots are dropped, with the mark that a search finds, and no other event is", () => {
    const { isDropped, text } = enriched(JSON.stringify(event), { bots: "drop" });
    expect(isDropped).toBe(true);
    expect(JSON.parse(text).context).toMatchObject({ isBot: true, bot: { name: "Googlebot" } });
    const marked = { context: { ...event.context, isBot: true, bot: {} } };
    expect(enriched(JSON.stringify(marked), { bots: "drop" }).isDropped).toBe(true);
    for (const userAgent of [CHROME, "", 5, null]) {
      const json = JSON.stringify({ ...event, context: { userAgent } });
      expect(enriched(json, { bots: "drop" })).toEqual({ text: json });
      expect(enriched(json, { bots: "mark" })).toEqual({ text: json });
    }
  });

  test("stays JSON when its context ends with white space", () => {
    const json = `{"context":{"userAgent":"${GOOGLEBOT}"  }}`;
    const { text } = enriched(json, { bots: "mark" });
    expect(JSON.parse(text).context).toMatchObject({ userAgent: GOOGLEBOT, isBot: true });
    const empty = enriched('{"context":{ \t},"request_ip":"203.0.113.1"}', {
      geoEnrichment: true,
    });
    expect(JSON.parse(empty.text).context).toEqual({ geo: geo("203.0.113.1") });
  });

  test("keeps what it says itself", () => {
    const context = { userAgent: GOOGLEBOT, isBot: false, bot: { name: "own" } };
    expect(parsed({ context }, { bots: "mark" })).toEqual({ context });
  });

  test.each([
    ["Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bingbot"],
    ["Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", "AhrefsBot"],
    ["Mozilla/5.0 (compatible; Googlebot/2.1)", "Googlebot"],
    ["facebookexternalhit/1.1", "facebookexternalhit"],
    ["curl/8.0", "curl"],
    [CHROME, undefined],
    [`${CHROME} ${"x".repeat(1_000)} Googlebot`, undefined],
  ])("of the user agent %s is named %p", (userAgent, name) => {
    expect(botName(userAgent)).toBe(name);
  });

  test("has a name of bounded length", () => {
    expect(botName("bo".repeat(500_000))?.length).toBeLessThanOrEqual(100);
  });
});

describe("the place of an event", () => {
  const settings = { geoEnrichment: true };

  test("is that of context.ip, else of the request", () => {
    const context = { ip: "203.0.113.5" };
    const request_ip = "203.0.113.9";
    expect(parsed({ context, request_ip }, settings).context.geo).toEqual(geo("203.0.113.5"));
    expect(parsed({ context: {}, request_ip }, settings).context.geo).toEqual(geo(request_ip));
    expect(parsed({ request_ip }, settings)).toEqual({
      request_ip,
      context: { geo: geo(request_ip) },
    });
  });

  test.each([
    { context: { ip: "198.51.100.1" } },
    { context: { ip: "no address" } },
    { context: { ip: 7 } },
    { context: {} },
    { context: null, request_ip: "203.0.113.9" },
    { context: [1], request_ip: "203.0.113.9" },
    { context: { ip: "203.0.113.9", geo: { city: "own" } } },
  ])("is not added to %j", (event) => {
    expect(parsed(event, settings)).toEqual(event);
  });

  test("has empty texts for what the database does not know", () => {
    expect(JSON.parse(createPlaces(() => ({}))("203.0.113.5")!)).toEqual({
      ...{ ip: "203.0.113.5", city: "", country: "", region: "", postal: "" },
      ...{ location: "", timezone: "" },
    });
  });

  test("is left out where the database is damaged", () => {
    const place = createPlaces(() => {
      throw new Error("Unknown type 75 at offset 162");
    });
    expect(place("203.0.113.5")).toBeUndefined();
  });

  test("is found in an event whose members come twice or with escapes", () => {
    const json = '{"context":{"ip":"x"},"cont\\u0065xt":{"i\\u0070":"x","ip":"203.0.113.5" } }';
    const { text } = enriched(json, settings);
    expect(JSON.parse(text)).toEqual({
      context: { ip: "203.0.113.5", geo: geo("203.0.113.5") },
    });
  });

  test("stands beside the mark of a bot", () => {
    const event = { context: { userAgent: GOOGLEBOT, ip: "203.0.113.5" } };
    const { context } = parsed(event, { geoEnrichment: true, bots: "mark" });
    expect(context).toMatchObject({ isBot: true, geo: geo("203.0.113.5") });
  });
});

test("changed settings hold for the next event", () => {
  let topology = 1;
  let settings: Partial<SourceSettings> = { bots: "keep" };
  const json = Buffer.from(JSON.stringify({ context: { userAgent: GOOGLEBOT } }));
  const eventOf = createEnrichedEvents<{ sourceId: string }>({
    eventOf: () => ({ json, user: "u", userId: "u", anonymousId: "" }),
    live: { topology: () => topology, sourceById: () => ({ settings }) as never },
  });
  expect(eventOf({ sourceId: "s" }).isDropped).toBeUndefined();
  settings = { bots: "drop" };
  topology++;
  expect(eventOf({ sourceId: "s" }).isDropped).toBe(true);
});

test("the settings of a source are read once until the catalog changes; without a source, events stay", () => {
  const sources = new Map([["s", { settings: { bots: "mark" } }]]);
  const read: string[] = [];
  let topology = 1;
  const eventOf = createEnrichedEvents<{ sourceId: string }>({
    eventOf: () => ({ ...{ json: Buffer.from("{}"), user: "u", userId: "u" }, anonymousId: "" }),
    live: {
      topology: () => topology,
      sourceById(id: string) {
        read.push(id);
        return sources.get(id) as never;
      },
    },
  });
  const textOf = (sourceId: string) => Buffer.from(eventOf({ sourceId }).json).toString();
  for (const id of ["s", "s", "gone", "gone", "s"]) expect(textOf(id)).toBe("{}");
  expect(read).toEqual(["s", "gone"]);
  topology = 2;
  for (const id of ["s", "s"]) textOf(id);
  expect(read).toEqual(["s", "gone", "s"]);
});
