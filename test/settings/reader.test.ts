import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clientEnvironment } from "../../src/settings/client-environment.ts";
import { flagName, keys, schemas } from "../../src/settings/keys.ts";
import { SECRET_FILE_BYTES_MAX } from "../../src/settings/limits.ts";
import { booleanFlags, configFlags, loadConfig, readSettings } from "../../src/settings/reader.ts";
import { nonDefaultSettings, reportSettings, settingsAsToml } from "../../src/settings/report.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-config-"));
afterAll(() => rmSync(directory, { recursive: true }));

async function fromFile(content: string) {
  const config = join(directory, "pixelmill.toml");
  await Bun.write(config, content);
  return () => loadConfig({ config }, {});
}

describe("what Kubernetes tells a container of a Service", () => {
  test.each(["PIXELMILL", "PIXELMILL_ADMIN", "PIXELMILL_PIXELS_EU"])("%s is no setting", (name) => {
    const environment = {
      [`${name}_SERVICE_HOST`]: "10.0.0.7",
      [`${name}_SERVICE_PORT`]: "8080",
      [`${name}_SERVICE_PORT_HTTP`]: "8080",
      [`${name}_PORT`]: "tcp://10.0.0.7:8080",
      [`${name}_PORT_8080_TCP`]: "tcp://10.0.0.7:8080",
      [`${name}_PORT_8080_TCP_PROTO`]: "tcp",
      [`${name}_PORT_8080_TCP_PORT`]: "8080",
      [`${name}_PORT_8080_TCP_ADDR`]: "10.0.0.7",
      [`${name}_PORT_53_UDP_ADDR`]: "10.0.0.7",
    };
    expect(loadConfig({}, environment)).toEqual(loadConfig({}, {}));
  });

  test.each([
    ["PIXELMILL_PORT", "http://10.0.0.7:8080", "Setting PIXELMILL_PORT must be a whole number"],
    ["PIXELMILL_PROT", "tcp://10.0.0.7:8080", "Unknown setting PIXELMILL_PROT"],
    ["PIXELMILL_SERVICE", "10.0.0.7", "Unknown setting PIXELMILL_SERVICE"],
  ])("a typo is one nevertheless: %s=%s", (name, value, message) => {
    expect(() => loadConfig({}, { [name]: value })).toThrow(message);
  });
});

describe("a value that does not fit", () => {
  test("an error names the expected value and the given one, cut to a readable length", () => {
    expect(() => loadConfig({ port: "8080a" }, {})).toThrow(
      'Setting --port must be a whole number from 0 to 65535, got "8080a": port of the data plane',
    );
    expect(() => loadConfig({ port: "x".repeat(1_000) }, {})).toThrow(
      `got "${"x".repeat(99)}…: port`,
    );
  });

  test.each(["admin-token", "cluster-password"])(
    "is not repeated where --%s is a secret",
    (flag) => {
      const secret = "-".repeat(2_000);
      expect(() => loadConfig({ [flag]: secret }, {})).toThrow(/^Setting --[a-z-]+ must be [^-]+$/);
    },
  );
});

describe("a file that is no TOML", () => {
  test.each([
    ['port = 1\nhost = "x\n', 2],
    ["[admin\nport = 1", 1],
    ["port = 1\n\n\nport = 2\n", 4],
    ['[cluster]\nkafka = [\n  "a:1",\n  "b:2"\n', 2],
  ])("%j is reported with the line of its error", async (content, line) => {
    expect(await fromFile(content)).toThrow(`pixelmill.toml, line ${line}: TOML Parse error`);
  });

  test("a misspelt key is reported with the nearest setting", async () => {
    expect(await fromFile("[admin]\nprot = 1")).toThrow(
      `Unknown setting admin.prot in ${directory}/pixelmill.toml; the nearest is admin.port`,
    );
    // Every object of JavaScript has this property.
    expect(await fromFile("constructor = 1")).toThrow("Unknown setting constructor in ");
  });
});

test.each(["toString = 1", "[constructor]", "[hasOwnProperty]\nname = 1", "__proto__ = 1"])(
  "a file with the name of a member of all objects is refused by that name: %j",
  async (content) => {
    const name = /\w+/.exec(content)![0];
    expect(await fromFile(`${content}\nlength = 1`)).toThrow(`Unknown setting ${name}`);
  },
);

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

describe("name servers", () => {
  const load = (value: string) => () => loadConfig({ "egress-resolver": value }, {});

  test("are addresses, perhaps with ports", () => {
    expect(load("1.1.1.1, 127.0.0.1:5353,[::1],[fd00::1]:53")()["egress.resolver"]).toEqual([
      ...["1.1.1.1", "127.0.0.1:5353", "[::1]", "[fd00::1]:53"],
    ]);
  });

  test.each(["dns.test", "1.1.1", "256.1.1.1", "1.1.1.1:0", "1.1.1.1:65536", "::1", "[::g]"])(
    "%s is refused",
    (value) => {
      expect(load(value)).toThrow(
        "Setting --egress-resolver must be a comma-separated list of ADDRESS or ADDRESS:PORT",
      );
    },
  );
});

test.each([
  ["public-url", "http://[::1", "a URL that begins with http:// or https://"],
  ["admin-url", "https://a:b:c", "a URL that begins with http:// or https://"],
  ["oidc-issuer", "https://%", "a URL that begins with http:// or https://"],
  ["smtp-server", "mail.test:65536", "HOST:PORT"],
  ["cluster-kafka", "kafka.test:65536", "a comma-separated list of HOST:PORT"],
])("--%s of %s is refused", (flag, value, expected) => {
  expect(() => loadConfig({ [flag]: value }, {})).toThrow(`Setting --${flag} must be ${expected}`);
});

describe("a secret in a file", () => {
  const path = join(directory, "secret");
  const variable = "PIXELMILL_CLUSTER_PASSWORD_FILE";

  test("is read without its line end, and wins over systemd's credential", async () => {
    await Bun.write(path, "from a file \n");
    await Bun.write(join(directory, "cluster.password"), "from a credential");
    await Bun.write(join(directory, "host"), "is no secret");
    const credentials = { CREDENTIALS_DIRECTORY: directory };
    expect(loadConfig({}, credentials)).toMatchObject({
      "cluster.password": "from a credential",
      host: "0.0.0.0",
    });
    const both = readSettings({}, { ...credentials, [variable]: path });
    expect(both.config["cluster.password"]).toBe("from a file ");
    expect(both.origins["cluster.password"]).toEqual({
      source: "environment",
      name: `${variable} (${path})`,
    });
  });

  test("that is missing, a directory, a pipe or too long is an error with its name", async () => {
    const load = (file: string) => () => loadConfig({}, { [variable]: file });
    const missing = join(directory, "missing");
    expect(load(missing)).toThrow(
      `Cannot read the file ${missing} of ${variable}: no such file or directory (ENOENT)`,
    );
    expect(load(directory)).toThrow(`Expected a file for ${variable}, got ${directory}`);
    const pipe = join(directory, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    expect(load(pipe)).toThrow(`Expected a file for ${variable}, got ${pipe}`);
    await Bun.write(path, "x".repeat(SECRET_FILE_BYTES_MAX + 1));
    expect(load(path)).toThrow(`Expected at most ${SECRET_FILE_BYTES_MAX} bytes`);
  });

  test("is checked like any value, and not repeated in the error", async () => {
    await Bun.write(path, "short");
    expect(() => loadConfig({}, { PIXELMILL_ADMIN_TOKEN_FILE: path })).toThrow(
      /^Setting PIXELMILL_ADMIN_TOKEN_FILE \(.*\) must be `pm_` and 32 to 128 letters or digits: /,
    );
  });

  test("and in a variable of its own is an error, since one of them would be ignored", async () => {
    await Bun.write(path, "one");
    const environment = { PIXELMILL_CLUSTER_PASSWORD: "other", [variable]: path };
    expect(() => loadConfig({}, environment)).toThrow(
      `Expected one of PIXELMILL_CLUSTER_PASSWORD and ${variable}, got both`,
    );
  });

  test("exists for secrets alone", () => {
    expect(() => loadConfig({}, { PIXELMILL_HOST_FILE: path })).toThrow(
      "Unknown setting PIXELMILL_HOST_FILE",
    );
  });
});

test("a text that must not be empty may have one character", () => {
  const texts = keys.filter((key) => {
    const { type, pattern, minLength = 0, writeOnly } = schemas[key];
    return type === "string" && pattern === undefined && minLength > 0 && writeOnly !== true;
  });
  expect(texts).toContain("oidc.name");
  for (const key of texts) {
    const read = (text: string) => readSettings({ [flagName(key)]: text }, {}).config[key];
    expect([key, read("x")]).toEqual([key, "x"]);
    expect(() => read("")).toThrow(flagName(key));
  }
});

test("a report of the settings is a TOML file that means the same, without secrets", async () => {
  const environment = {
    PIXELMILL_ADMIN_RATE: "7",
    PIXELMILL_TRUSTED_PROXIES: "10.0.0.0/8, ::1/128",
    PIXELMILL_ADMIN_TOKEN: `pm_${"secretSecret".repeat(4)}`,
    PIXELMILL_OIDC_NAME: 'Our "own" \\ sign-on',
  };
  const read = readSettings({ "log-level": "debug" }, environment);
  const text = settingsAsToml(reportSettings(read));
  expect(text).toContain("admin.rate = 7  # PIXELMILL_ADMIN_RATE\n");
  expect(text).toContain('log.level = "debug"  # --log-level\n');
  expect(text).toContain("port = 8080  # default\n");
  expect(text).toContain("# admin.token is set  # PIXELMILL_ADMIN_TOKEN\n");
  expect(text).not.toContain("secretSecret");
  const { "admin.token": _, ...others } = read.config;
  expect((await fromFile(text))()).toEqual(others as never);
});

test("the help of a flag ends with the default of its setting, or with none", () => {
  const endOf = (flag: string) => configFlags[flag]!.description.match(/\[.*\]$/)?.[0];
  expect(["admin-port", "backup-keep", "backup-every"].map(endOf)).toEqual([
    "[8081]",
    "[7]",
    "[0]",
  ]);
  expect(["admin-url", "egress-allow"].map(endOf)).toEqual(["[none]", "[none]"]);
});

test("the help of a flag names the form of its value, and the flags of booleans need none", () => {
  const flags = ["admin-port", "egress-allow", "cluster-tls", "host"];
  expect(flags.map((flag) => configFlags[flag]!.valueHint)).toEqual([
    ...["number", "list", "true|false", "text"],
  ]);
  expect(flags.filter((flag) => booleanFlags.has(flag))).toEqual(["cluster-tls"]);
});

test("the settings that differ from their defaults are told, without secrets", () => {
  const token = `pm_${"s".repeat(40)}`;
  const config = loadConfig({ port: "8080", "admin-port": "9", "admin-token": token }, {});
  expect(nonDefaultSettings(config)).toEqual({ "admin.port": 9, "admin.token": "(set)" });
  const list = loadConfig({ "trusted-proxies": "10.0.0.0/8" }, {});
  expect(nonDefaultSettings(list)).toEqual({ "trusted.proxies": ["10.0.0.0/8"] });
});

test("profiles of clients are in the user's configuration, where the environment says", () => {
  const fileOf = (environment: Record<string, string>) =>
    clientEnvironment(environment).profilesFile;
  expect(fileOf({ HOME: "/home/u" })).toBe("/home/u/.config/pixelmill/profiles.toml");
  expect(fileOf({ HOME: "/home/u", XDG_CONFIG_HOME: "/x" })).toBe("/x/pixelmill/profiles.toml");
});
