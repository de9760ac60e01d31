import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { clientEnvironment } from "../../src/settings/client-environment.ts";
import { SECRET_FILE_BYTES_MAX } from "../../src/settings/limits.ts";
import {
  ingestEnvironment,
  loadConfig,
  readSettings,
  systemdEnvironment,
} from "../../src/settings/reader.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-sources-"));
afterAll(() => rmSync(directory, { recursive: true }));

function written(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

/** Returns what `read` returns while the environment has other variables besides its own. */
function withEnvironment<T>(more: Record<string, string>, read: () => T): T {
  const before = { ...process.env };
  Object.assign(process.env, more);
  try {
    return read();
  } finally {
    for (const name of Object.keys(more)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}

test("a flag overrides the environment, which overrides a credential, which overrides the file", () => {
  const credentials = join(directory, "credentials");
  mkdirSync(credentials);
  writeFileSync(join(credentials, "cluster.password"), "of a credential");
  const file = written("order.toml", '[cluster]\npassword = "of the file"\n');
  const name = "PIXELMILL_CLUSTER_PASSWORD";
  const environments = [
    {},
    { PIXELMILL_CONFIG: file },
    { PIXELMILL_CONFIG: file, CREDENTIALS_DIRECTORY: credentials },
    { PIXELMILL_CONFIG: file, CREDENTIALS_DIRECTORY: credentials, [name]: "of a variable" },
  ];
  const flag = { "cluster-password": "of a flag" };
  const all = environments.at(-1)!;
  const read = [...environments.map((it) => readSettings({}, it)), readSettings(flag, all)];
  expect(read.map(({ config }) => config["cluster.password"])).toEqual([
    undefined,
    "of the file",
    "of a credential",
    "of a variable",
    "of a flag",
  ]);
  expect(read.map(({ origins }) => origins["cluster.password"])).toEqual([
    { source: "default" },
    { source: "file", name: `cluster.password in ${file}` },
    { source: "credential", name: "credential cluster.password" },
    { source: "environment", name },
    { source: "flag", name: "--cluster-password" },
  ]);
});

describe("the configuration file", () => {
  test("of the flag --config is read instead of that of PIXELMILL_CONFIG", () => {
    const [one, other] = [written("one.toml", "port = 1001"), written("two.toml", "port = 1002")];
    expect(loadConfig({ config: one }, { PIXELMILL_CONFIG: other }).port).toBe(1001);
  });

  test("that was asked for must exist", () => {
    const missing = join(directory, "missing.toml");
    const message = `Cannot read the configuration file ${missing}: `;
    expect(() => loadConfig({ config: missing }, {})).toThrow(message);
    expect(() => loadConfig({}, { PIXELMILL_CONFIG: missing })).toThrow(message);
  });

  test("is pixelmill.toml of the working directory by default, if there is one", () => {
    const here = process.cwd();
    process.chdir(directory);
    try {
      expect(loadConfig({}, {}).port).toBe(8080);
      written("pixelmill.toml", "port = 1003");
      expect(loadConfig({}, {}).port).toBe(1003);
    } finally {
      process.chdir(here);
      rmSync(join(directory, "pixelmill.toml"), { force: true });
    }
  });
});

test.each([
  [{ "cluster-tls": "perhaps" }, 'Setting --cluster-tls must be true or false, got "perhaps": '],
  [
    { "log-level": "loud" },
    "Setting --log-level must be one of trace, debug, info, warn, error, fatal, silent, got ",
  ],
  [{ "oidc-name": "" }, 'Setting --oidc-name must be a text that is not empty, got "": '],
])("the error of a value names the expected ones: %j", (flags, message) => {
  expect(() => loadConfig(flags, {})).toThrow(message);
});

test("the nearest setting is named as the user wrote, and no setting where none is near", () => {
  const messageOf = (name: string) => {
    try {
      return loadConfig({}, { [name]: "1" });
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(messageOf("PIXELMILL_PROT")).toBe(
    "Unknown setting PIXELMILL_PROT; the nearest is PIXELMILL_PORT",
  );
  expect(messageOf("PIXELMILL_SOMETHING_ELSE")).toBe("Unknown setting PIXELMILL_SOMETHING_ELSE");
});

test("settings are frozen, and lists have no empty items", () => {
  const config = loadConfig({ "trusted-proxies": "10.0.0.0/8,, ::1/128 ," }, {});
  expect(config["trusted.proxies"]).toEqual(["10.0.0.0/8", "::1/128"]);
  expect(Object.isFrozen(config)).toBe(true);
  expect(loadConfig({ "cluster-tls": true }, {})["cluster.tls"]).toBe(true);
});

test("a secret's file may have any line end, and as many bytes as its limit", () => {
  const secretIn = (content: string) =>
    loadConfig({}, { PIXELMILL_CLUSTER_PASSWORD_FILE: written("secret", content) })[
      "cluster.password"
    ];
  expect(["a\r\n", "a\n", "a\n\n", "a"].map(secretIn)).toEqual(["a", "a", "a\n", "a"]);
  // It is longer than a password may be.
  expect(() => secretIn("x".repeat(SECRET_FILE_BYTES_MAX))).toThrow("Setting PIXELMILL_CLUSTER");
});

test("an ingest process inherits no variable that may be a secret", () => {
  const others = {
    PIXELMILL_ADMIN_TOKEN: "secret",
    AWS_SECRET_ACCESS_KEY: "secret",
    PATHS: "secret",
    XHOME: "secret",
    LC_1: "secret",
  };
  const inherited = { LC_TIME: "C", BUN_JSC_useJIT: "1", MALLOC_ARENA_MAX: "2", TZ: "UTC" };
  const found = withEnvironment({ ...others, ...inherited }, ingestEnvironment);
  expect(found).toMatchObject({ ...inherited, PATH: process.env.PATH! });
  expect(Object.keys(others).filter((name) => name in found)).toEqual([]);
});

test("the variables of systemd are those of its sockets and its notifications", () => {
  const given = { LISTEN_FDS: "1", LISTEN_PID: "2", LISTEN_FDNAMES: "n", NOTIFY_SOCKET: "/s" };
  expect(withEnvironment({ ...given, INVOCATION_ID: "x" }, systemdEnvironment)).toEqual(given);
});

describe("the environment of a client", () => {
  test("has each value in its own variable, and an empty one counts as absent", () => {
    const client = clientEnvironment({
      PIXELMILL_SERVER: "http://a",
      PIXELMILL_TOKEN: "t",
      PIXELMILL_TOKEN_FILE: "f",
      PIXELMILL_PROFILE: "p",
      RUDDERSTACK_ACCESS_TOKEN: "r",
      XDG_CONFIG_HOME: "",
    });
    expect(client).toMatchObject({
      server: "http://a",
      token: "t",
      tokenFile: "f",
      profile: "p",
      rudderStackToken: "r",
      profilesFile: join(homedir(), ".config", "pixelmill", "profiles.toml"),
    });
    expect(clientEnvironment({ PIXELMILL_SERVER: "" }).server).toBeUndefined();
  });

  test.each([
    [{}, true],
    [{ TERM: "xterm" }, true],
    [{ NO_COLOR: "" }, true],
    [{ NO_COLOR: "1" }, false],
    [{ TERM: "dumb" }, false],
  ])("allows colours by NO_COLOR and TERM: %j", (environment, allowed) => {
    expect(clientEnvironment(environment).allowsColor).toBe(allowed);
  });
});
