import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { ArgsDef, CommandDef } from "citty";
import { token, workspace } from "../../src/cli/catalog.ts";
import { check } from "../../src/cli/check.ts";
import { clientCommands } from "../../src/cli/client/commands.ts";
import { backup, cluster, compact, release, restore } from "../../src/cli/data-commands.ts";
import { print } from "../../src/cli/print/print.ts";
import { config, reload } from "../../src/cli/running-server.ts";
import { serve } from "../../src/cli/serve.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { start } from "./in-process.ts";

/** Default working directory of commands. */
const elsewhere = temporaryDirectory();
afterAll(() => removeDirectory(elsewhere));

async function pixelmill(
  args: string[],
  environment: Record<string, string> = {},
  cwd = elsewhere,
) {
  const { ended, output, errors } = start(args, { environment, cwd });
  return { code: await ended, output: output.text, errors: errors.text };
}

describe("invalid command line", () => {
  const port = "must be a whole number from 0 to 65535";
  test.each([
    [["srve"], {}, "Unknown command srve; the nearest is serve"],
    [["srve", "--help"], {}, "Unknown command srve; the nearest is serve"],
    [["token", "craete"], {}, "Unknown command craete; the nearest is create"],
    [[], {}, "Expected a command"],
    [["--hlep"], {}, "Expected a command before --hlep; the nearest is --help"],
    [["serve", "--prot", "1"], {}, "Unknown option '--prot'; the nearest is --port"],
    [
      ["serve", "--admin.port", "1"],
      {},
      "Unknown option '--admin.port'; the nearest is --admin-port",
    ],
    [["serve", "now"], {}, "Unexpected argument now"],
    [["serve", "--port", "http"], {}, `Setting --port ${port}, got "http"`],
    [["serve", "--host", "[::1]"], {}, "Setting --host must be an IP address without brackets"],
    [["serve", "--public-url", "x.example"], {}, "Setting --public-url must be a URL that begins"],
    [["serve", "--request-ip=no"], {}, "Setting --request-ip must be true or false"],
    [["serve"], { PIXELMILL_ADMIN_PORT: "-1" }, `Setting PIXELMILL_ADMIN_PORT ${port}`],
    [
      ["serve"],
      { PIXELMILL_PROT: "1" },
      "Unknown setting PIXELMILL_PROT; the nearest is PIXELMILL_PORT",
    ],
    [
      ["serve"],
      { PIXELMILL_EGRESS_ALLOW: "10.0.0.1/99" },
      "Setting PIXELMILL_EGRESS_ALLOW must be",
    ],
    [["serve"], { PIXELMILL_ADMIN_TOKEN: "secret" }, "Setting PIXELMILL_ADMIN_TOKEN must be"],
    [
      ["serve", "--config", "/nowhere.toml"],
      {},
      "Cannot read the configuration file /nowhere.toml: no such file or directory (ENOENT)",
    ],
    [["workspace", "create"], {}, "Expected NAME"],
    [["workspace", "create", " "], {}, "Expected a name of 1 to 255 characters"],
    [["workspace", "create", "n".repeat(256)], {}, "Expected a name of 1 to 255 characters"],
    [["token", "create", "--name", ""], {}, "Expected a name of 1 to 255 characters"],
    [["token", "create", "--permissions", "all"], {}, "Unknown permission all"],
    [["cluster", "import"], {}, "Expected the setting cluster.kafka"],
    [["cluster", "export"], {}, "Expected the setting cluster.kafka"],
    [
      ["cluster", "import", "--cluster-kafka", "127.0.0.1:1"],
      {},
      "Expected a data directory of pixelmill",
    ],
  ])(
    "the arguments %j with the environment %j are refused with a message of their own",
    async (args, environment, message) => {
      const { code, output, errors } = await pixelmill(args, environment as Record<string, string>);
      expect({ code: code > 0, output }).toEqual({ code: true, output: "" });
      expect(errors.split("\n")[0]).toStartWith(`pixelmill: ${message}`);
      expect(errors).not.toContain("secret\n");
      expect(errors).not.toContain("    at ");
    },
  );

  test("a bad key in the configuration file is reported with the file's name", async () => {
    const cwd = temporaryDirectory();
    await Bun.write(join(cwd, "pixelmill.toml"), 'log.level = "loud"\n');
    const { code, errors } = await pixelmill(["serve"], {}, cwd);
    expect(code).toBe(1);
    expect(errors).toStartWith("pixelmill: Setting log.level in pixelmill.toml must be one of");
    removeDirectory(cwd);
  });
});

test("an invalid command line creates no files", () => {
  expect(readdirSync(elsewhere)).toEqual([]);
});

test.each([
  ["--version", /^\d+\.\d+\.\d+\n$/],
  ["--help", /^USAGE pixelmill <command>$/m],
  ["help", /^USAGE pixelmill <command>$/m],
  ["help token create", /^USAGE pixelmill token create \[OPTIONS\]/m],
  ["serve --help", /^USAGE pixelmill serve \[OPTIONS\]/m],
  ["token --help", /^USAGE pixelmill token create/m],
  ["token create --help", /^USAGE pixelmill token create \[OPTIONS\]/m],
  ["workspace list --help", /^USAGE pixelmill workspace list \[OPTIONS\]/m],
  ["workspace create --help", /^USAGE pixelmill workspace create \[OPTIONS\] <NAME>/m],
])("%s exits 0 and tells what was asked", async (line, answer) => {
  const { code, output, errors } = await pixelmill(line.split(" "));
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(output).toMatch(answer);
});

test.each([
  ["serve", true],
  ["check", true],
  ["token create", false],
  ["compact", false],
])("%s --help lists the settings that matter to the command", async (command, isServer) => {
  const { output } = await pixelmill([...command.split(" "), "--help"]);
  expect(output).toContain("--data=");
  expect(output).toContain("--log-level=");
  expect(output.includes("--admin-port=")).toBe(isServer);
});

const all = {
  ...{ backup, release, restore, check, cluster, compact, config, print, reload, serve, token },
  ...{ workspace, ...clientCommands },
} as object as Record<string, CommandDef>;

/** Lists commands and those below them, by their words. */
function named(commands: Record<string, CommandDef>, above = ""): [string, CommandDef][] {
  return Object.entries(commands).flatMap(([name, command]) => {
    const below = (command.subCommands ?? {}) as Record<string, CommandDef>;
    return [[above + name, command], ...named(below, `${above}${name} `)];
  });
}

test.each(named(all))(
  "%s tells its name, what it does, and the form of each flag",
  (words, command) => {
    const meta = command.meta as { name: string; description: string };
    expect(meta.name).toBe(words);
    expect(meta.description).not.toBe("");
    for (const [name, arg] of Object.entries((command.args ?? {}) as ArgsDef)) {
      expect([name, arg.type]).toEqual([
        name,
        expect.stringMatching(/^(boolean|string|positional)$/),
      ]);
      expect([name, arg.description]).not.toEqual([name, ""]);
      expect([name, arg.valueHint]).not.toEqual([name, ""]);
    }
  },
);

test.each([
  ["replay watch", "Expected ID"],
  ["replay start --from 1h", "Expected --destination"],
  ["replay start --destination d", "Expected --from"],
  ["replay list --server", "Option '--server <value>' argument missing"],
  ["test", "Expected PATH"],
  ["pull a b", "Unexpected argument b"],
  ["dead-letters replay --wait=yes", "Option '--wait' does not take an argument"],
  ["-x", "Expected a command before -x"],
])("the command line %j is refused, and names the help", async (line, message) => {
  const { code, errors } = await pixelmill(line.split(" "));
  expect(code).toBe(2);
  expect(errors).toStartWith(`pixelmill: ${message}\n`);
  expect(errors).toContain(line === "-x" ? "USAGE pixelmill" : "\nSee pixelmill ");
});
