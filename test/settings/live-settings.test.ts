import { expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../src/errors.ts";
import { isReloadable, type Key, keys } from "../../src/settings/keys.ts";
import { LiveSettings } from "../../src/settings/live-settings.ts";
import { readSettings } from "../../src/settings/reader.ts";

/** Settings of which two parts take `admin.rate`; the second one refuses a rate of 7. */
function setUp() {
  const flags: Record<string, string> = { "admin-rate": "1" };
  const live = new LiveSettings(() => readSettings(flags, {}));
  const taken: number[] = [];
  live.add({
    keys: ["admin.rate"],
    prepare: (next) => () => void taken.push(next["admin.rate"]),
  });
  live.add({
    keys: ["admin.rate"],
    prepare(next) {
      if (next["admin.rate"] === 7) throw new StartError("No 7");
      return () => {};
    },
  });
  return { flags, live, taken };
}

test("a value that one part refuses is taken by no part, and is not in force", () => {
  const { flags, live, taken } = setUp();
  flags["admin-rate"] = "7";
  expect(() => live.reload()).toThrow("No 7");
  expect({ taken, rate: live.config["admin.rate"] }).toEqual({ taken: [], rate: 1 });
  flags["admin-rate"] = "8";
  expect(live.reload()).toEqual({ changed: ["admin.rate"], needRestart: [] });
  expect({ taken, rate: live.config["admin.rate"] }).toEqual({ taken: [8], rate: 8 });
});

test("TLS files are replaced at a reload, and set or unset at a restart", () => {
  const { flags, live } = setUp();
  flags["tls-certificate"] = "first";
  expect(live.reload()).toEqual({ changed: [], needRestart: ["tls.certificate"] });
  const started = new LiveSettings(() => readSettings(flags, {}));
  flags["tls-certificate"] = "second";
  expect(started.reload()).toEqual({ changed: ["tls.certificate"], needRestart: [] });
  delete flags["tls-certificate"];
  expect(started.reload()).toEqual({ changed: [], needRestart: ["tls.certificate"] });
  expect(started.config["tls.certificate"]).toBe("second");
});

test("a setting that waits for a restart is reported with the source of its value in force", () => {
  const file = join(mkdtempSync(join(tmpdir(), "settings-")), "pixelmill.toml");
  writeFileSync(file, "port = 9001\n");
  const flags: Record<string, string> = { config: file };
  const live = new LiveSettings(() => readSettings(flags, {}));
  const port = () => live.report().find(({ key }) => key === "port");
  const before = port();
  flags.port = "9002";
  expect(live.reload()).toEqual({ changed: [], needRestart: ["port"] });
  expect(port()).toEqual(before!);
  expect(live.config.port).toBe(9001);
});

test("the parts of a server take the reloadable settings and no others, until they are removed", () => {
  const live = new LiveSettings(() => readSettings({}, {}));
  const part = (...taken: Key[]) => ({ keys: taken, prepare: () => () => {} });
  const message = "Parts take exactly the settings that are reloadable";
  expect(() => live.expectComplete()).toThrow(message);
  live.add(part(...keys.filter(isReloadable)));
  live.expectComplete();
  live.removeParts();
  expect(() => live.expectComplete()).toThrow(message);
  live.add(part(...keys.filter(isReloadable), "port"));
  expect(() => live.expectComplete()).toThrow(message);
});
