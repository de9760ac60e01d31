import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineCommand } from "citty";
import { temporaryDirectory } from "../disk/temporary-directory.ts";
import { messageOf, StartError } from "../errors.ts";
import { httpUrl } from "../http/url.ts";
import type { Config } from "../settings/keys.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";
import { archiveArgument, inWords } from "./data-commands.ts";
import { askServer } from "./running-server.ts";
import { textFlag } from "./terminal/flags.ts";

/** Milliseconds that `check health` waits for an answer of the data plane. */
const ANSWER_MS_MAX = 5_000;

const checkBackup = defineCommand({
  meta: {
    name: "check backup",
    description: "Unpack a backup, read all of it, and remove it again",
  },
  args: {
    file: archiveArgument,
    directory: textFlag("place for what is unpacked [the temporary directory]", "directory"),
    ...configFlags,
  },
  async run({ args }) {
    const config = loadConfig(args);
    // Imported only when the command runs: LMDB unpacks a library, which `--help` must not do.
    const { archiveSource } = await import("../backup/archive-source.ts");
    const { verify } = await import("../backup/verify.ts");
    const archive = await archiveSource(config, args.file as string);
    const place = String(args.directory ?? tmpdir());
    try {
      using directory = temporaryDirectory(join(place, "pixelmill-check-"));
      const contents = await verify(archive, directory.path);
      const name = archive.name.startsWith("s3:") ? archive.name : args.file;
      process.stdout.write(`ok    backup ${name}: ${inWords(contents)}\n`);
      for (const warning of contents.warnings) process.stdout.write(`warns ${warning}\n`);
    } finally {
      archive.close();
    }
  },
});

const checkHealth = defineCommand({
  meta: {
    name: "check health",
    description: "Ask whether the running server answers, on its data plane too",
  },
  args: configFlags,
  async run({ args }) {
    const config = loadConfig(args);
    await askServer(config, "GET", "/settings");
    await askDataPlane(config);
    process.stdout.write("healthy\n");
  },
});

/**
 * Sends a request to `/health` of the data plane. Throws `StartError` unless the request succeeds.
 */
async function askDataPlane(config: Config): Promise<void> {
  const scheme = config["tls.certificate"] === undefined ? "http" : "https";
  const host = loopback.get(config.host) ?? config.host;
  const url = `${httpUrl(host, config.port, scheme)}/health`;
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
      // The certificate is issued for the name by which other machines reach this one.
      tls: { rejectUnauthorized: false },
    });
    if (response.ok) return;
    throw new Error(`it answers ${response.status}`);
  } catch (error) {
    throw new StartError(`Expected the data plane to answer at ${url}: ${messageOf(error)}`);
  }
}

/** Map from the wildcard host of a listener to a loopback address that reaches the listener. */
const loopback = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

export const check = defineCommand({
  meta: { name: "check", description: "Look whether a server with these settings would work here" },
  args: configFlags,
  subCommands: { backup: checkBackup, health: checkHealth },
  async run({ args }) {
    const config = loadConfig(args);
    const { check } = await import("../check/check.ts");
    let fails = false;
    for await (const { state, subject, detail } of check(config)) {
      process.stdout.write(`${state.padEnd(6)}${subject}: ${detail}\n`);
      fails ||= state === "fails";
    }
    return fails ? 1 : 0;
  },
});
