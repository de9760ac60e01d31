import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../src/config.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-config-"));
afterAll(() => rmSync(directory, { recursive: true }));

async function fromFile(content: string) {
  const config = join(directory, "pixelmill.toml");
  await Bun.write(config, content);
  return () => loadConfig({ config }, {});
}

describe("a whole number", () => {
  test("is digits in flags and the environment, an integer in the file", async () => {
    expect(loadConfig({ port: "9000" }, { PIXELMILL_INGEST_RATE: "0" })).toMatchObject({
      port: 9_000,
      "ingest.rate": 0,
    });
    expect((await fromFile('port = 9000\nadmin.port = "9001"'))()).toMatchObject({
      port: 9_000,
      "admin.port": 9_001,
    });
  });

  test.each(["1e3", "0x1F90", "8080.5", "-1", "+1", " 80", "", "true", "65536", "9".repeat(30)])(
    "is not %p in a flag or the environment",
    (text) => {
      const expected = "must be a whole number from 0 to 65535";
      expect(() => loadConfig({ port: text }, {})).toThrow(`Setting --port ${expected}`);
      expect(() => loadConfig({}, { PIXELMILL_PORT: text })).toThrow(
        `Setting PIXELMILL_PORT ${expected}`,
      );
    },
  );

  test.each(["port = true", "port = 8080.5", "port = [80]", "ingest.rate = 0.9"])(
    "is not %p in the file",
    async (line) => {
      const [key] = line.split(" ");
      expect(await fromFile(line)).toThrow(`Setting ${key} in ${directory}/pixelmill.toml must be`);
    },
  );
});
