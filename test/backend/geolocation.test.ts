import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { openGeolocationDatabase } from "../../src/backend/reloadable/open-geolocation.ts";
import { LiveSettings } from "../../src/settings/live-settings.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { cityDatabase } from "../city-database.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-geolocation-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Opens a file with this content as the database. `lines` are the log lines. */
function open(content: Uint8Array) {
  const path = join(directory, "cities.mmdb");
  writeFileSync(path, content);
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(line) });
  const read = () => readSettings({ "geolocation-database": path }, {});
  const { config } = read();
  const settings = new LiveSettings(read);
  return { lines, ...openGeolocationDatabase({ config, settings, logger }) };
}

test("a database for IPv4 has no place of an IPv6 address whose first bits are those of one", () => {
  const { record, place } = open(cityDatabase());
  expect(record("203.0.113.0")).toMatchObject({ city: { names: { en: "Ghent" } } });
  for (const ip of ["cb00:7100::1", "::ffff:203.0.113.0"]) {
    expect([record(ip), place(ip)]).toEqual([null, undefined]);
  }
});

test("a damaged database is logged once", () => {
  const damaged = Buffer.from(cityDatabase());
  // A map of one member whose key is a pointer far beyond the file.
  damaged.set([0xe1, 0x38, 0x7f, 0xff, 0xff, 0xff], damaged.indexOf("city") - 2);
  const { lines, record, place } = open(damaged);
  expect(() => record("203.0.113.1")).toThrow();
  expect(["203.0.113.2", "203.0.113.3", "198.51.100.1"].map(place)).toEqual(
    new Array(3).fill(undefined),
  );
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    "the geolocation database is damaged",
  ]);
});

test("a reload opens another database or none, and one that cannot be read changes nothing", () => {
  const at = (name: string) => join(directory, name);
  writeFileSync(at("good.mmdb"), cityDatabase());
  writeFileSync(at("bad.mmdb"), "no database");
  const flags: Record<string, string> = {};
  const settings = new LiveSettings(() => readSettings(flags, {}));
  const logger = pino({ level: "silent" });
  const { config } = settings;
  const { record, place } = openGeolocationDatabase({ config, settings, logger });
  const use = (name: string) => {
    flags["geolocation-database"] = at(name);
    settings.reload();
  };
  const ip = "203.0.113.0";
  expect(() => record(ip)).toThrow("Not configured");
  expect(place(ip)).toBeUndefined();
  use("good.mmdb");
  const city = { city: { names: { en: "Ghent" } } };
  expect(record(ip)).toMatchObject(city);
  expect(place(ip)).toContain("Ghent");
  const cannot = "Cannot read the geolocation database";
  expect(() => use("none.mmdb")).toThrow(`${cannot} ${at("none.mmdb")}: ENOENT`);
  expect(() => use("bad.mmdb")).toThrow(`${cannot} ${at("bad.mmdb")}: `);
  expect(record(ip)).toMatchObject(city);
  delete flags["geolocation-database"];
  settings.reload();
  expect(() => record(ip)).toThrow("Not configured");
});
