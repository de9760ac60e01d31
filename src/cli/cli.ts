import { parseArgs } from "node:util";
import { type ArgsDef, type CommandDef, defineCommand, renderUsage, runCommand } from "citty";
import { ApiError, messageOf, StartError } from "../errors.ts";
import { nearestName } from "../settings/nearest-name.ts";
import { booleanFlags, configFlags } from "../settings/reader.ts";
import { version } from "../version.ts";
import { token, workspace } from "./catalog.ts";
import { check } from "./check.ts";
import { backup, cluster, compact, release, restore } from "./data-commands.ts";
import { type CommandNode, commandTree } from "./manual/command-tree.ts";
import { config, reload } from "./running-server.ts";
import { serve } from "./serve.ts";
import { fitUsage } from "./terminal/usage.ts";

const serverCommands = {
  serve,
  config,
  reload,
  workspace,
  token,
  check,
  compact,
  backup,
  restore,
  release,
  cluster,
};

/**
 * Returns the command `pixelmill` with its subcommands. If the command line names a command of the
 * server, such as `serve`, leaves out the other kinds of commands and does not load their code.
 */
async function allCommands(argv: string[]): Promise<CommandDef> {
  const isOfServer = Object.hasOwn(serverCommands, argv[0]!);
  const others = isOfServer
    ? {}
    : await otherCommands(() => commandTree(pixelmill, isShownInUsage));
  const pixelmill: CommandDef = defineCommand({
    meta: {
      name: "pixelmill",
      version,
      description: "Pixel events in, user code over them, deliveries out",
    },
    subCommands: { ...serverCommands, ...others },
  });
  return pixelmill;
}

async function otherCommands(tree: () => CommandNode): Promise<Record<string, CommandDef>> {
  const { clientCommands } = await import("./client/commands.ts");
  const { manualCommands } = await import("./manual/commands.ts");
  const { print } = await import("./print/print.ts");
  return { ...clientCommands, print, ...manualCommands(tree) };
}

/**
 * Runs one command line and returns its exit code:
 * - 0: success
 * - 1: a negative result, such as a difference or a failed test; also any failure other than the
 *   following
 * - 2: invalid command line
 * - 3: the server cannot be reached or refuses a client command's request
 */
export async function run(argv: string[]): Promise<number> {
  if (argv[0] === "--version" || argv[0] === "-v") {
    print(version);
    return 0;
  }
  // The reader of the output may stop before its end, as `head` does.
  process.stdout.on("error", () => {});
  const asked = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
  const pixelmill = await allCommands(asked);
  const { command, rest } = resolve(pixelmill, asked.map(withValue));
  const [first] = rest;
  const unknown = command.run || first?.startsWith("-") ? undefined : first;
  if (unknown === undefined && (rest.includes("--help") || rest.includes("-h"))) {
    print(await usage(pixelmill, command));
    return 0;
  }
  if (!command.run) {
    const before = first === undefined ? "" : ` before ${first}${nearest(first, ["--help"])}`;
    const problem =
      unknown === undefined
        ? `Expected a command${before}`
        : `Unknown command ${unknown}${nearest(unknown, Object.keys(command.subCommands!))}`;
    printError(`${problem}\n\n${await usage(pixelmill, command)}`);
    return 2;
  }
  const mistake = usageError((command.args ?? {}) as ArgsDef, rest);
  if (mistake) {
    const { name } = command.meta as { name: string };
    printError(`${mistake}\nSee pixelmill ${name} --help`);
    return 2;
  }
  try {
    const { result } = await runCommand({ ...command, subCommands: {} }, { rawArgs: rest });
    return typeof result === "number" ? result : 0;
  } catch (error) {
    const brokers = brokerError(error);
    if (brokers === undefined && !isForOperator(error)) throw error;
    printError(brokers ?? messageOf(error));
    return 1;
  }
}

/**
 * Whether an error's message is printed without the stack. True for errors that the operator can
 * correct, and for failed system calls. Other errors are bugs, whose stack helps to find them.
 */
function isForOperator(error: unknown): boolean {
  if (error instanceof StartError || error instanceof ApiError) return true;
  return error instanceof Error && "syscall" in error && "code" in error;
}

/**
 * Returns a message with the root causes of an error that the Kafka library threw. Returns
 * `undefined` for other errors.
 */
function brokerError(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string" || !code.startsWith("PLT_KFK_")) return undefined;
  return `Cannot use the brokers of cluster.kafka: ${[...new Set(rootCausesOf(error))].join("; ")}`;
}

function rootCausesOf(error: unknown): string[] {
  const { errors = [], cause } = error as { errors?: unknown[]; cause?: unknown };
  const deeper = cause === undefined ? errors : [...errors, cause];
  return deeper.length === 0 ? [messageOf(error)] : deeper.flatMap(rootCausesOf);
}

function nearest(name: string, known: string[], prefix = ""): string {
  const meant = nearestName(name, known);
  return meant === undefined ? "" : `; the nearest is ${prefix}${meant}`;
}

/**
 * Returns the argument `arg`, with a value if it is the flag of a boolean setting: `--flag` becomes
 * `--flag=true`, `--no-flag` becomes `--flag=false`. The parser needs this. A `--flag` before
 * `true` or `false` stays unchanged.
 */
function withValue(arg: string, at: number, argv: string[]): string {
  const [, no, flag = ""] = /^--(no-)?(.+)$/.exec(arg) ?? [];
  const valueFollows = !no && /^(true|false)$/.test(argv[at + 1]!);
  return booleanFlags.has(flag) && !valueFollows ? `--${flag}=${!no}` : arg;
}

/** Returns the command that the first words name, such as `token create`, and its arguments. */
function resolve(pixelmill: CommandDef, argv: string[]) {
  let command = pixelmill;
  let rest = argv;
  for (;;) {
    const [word = "", ...after] = rest;
    const subCommands = (command.subCommands ?? {}) as Record<string, CommandDef>;
    const next = Object.hasOwn(subCommands, word) ? subCommands[word] : undefined;
    if (!next) return { command, rest };
    command = next;
    rest = after;
  }
}

/**
 * Returns a command's usage text. Removes the colour codes of the parser citty unless the output is
 * a terminal.
 */
async function usage(pixelmill: CommandDef, command: CommandDef): Promise<string> {
  const args = Object.entries((command.args ?? {}) as ArgsDef).filter(([name]) =>
    isShownInUsage(command, name),
  );
  const shown = { ...command, args: Object.fromEntries(args) };
  // The full name of a command contains those of the commands above it, except the first.
  const text = await renderUsage(shown, command === pixelmill ? undefined : pixelmill);
  const named = text.replace(/(?<= )[\w-]+(\|[\w-]+){4,}/, "<command>");
  return fitUsage((process.stdout.isTTY ? named : Bun.stripANSI(named)).replaceAll(/ +$/gm, ""));
}

/**
 * Whether a command's usage text lists a flag. Every command accepts the flags of all settings, but
 * only `serve` and `check` list them all, because the other commands need only a few.
 */
function isShownInUsage(command: CommandDef, flag: string): boolean {
  const all = ([serve, check] as unknown[]).includes(command);
  return all || !Object.hasOwn(configFlags, flag) || ["config", "data", "log-level"].includes(flag);
}

/**
 * Returns a sentence that says why a command line is invalid, or `undefined` when it is valid.
 * Unknown flags are invalid too: most are typing errors, and the parser citty accepts them.
 */
function usageError(args: ArgsDef, rest: string[]): string | undefined {
  const flags = Object.entries(args).filter(([, arg]) => arg.type !== "positional");
  const positionals = Object.entries(args).filter(([, arg]) => arg.type === "positional");
  const options = Object.fromEntries(
    flags.map(([name, arg]) => [
      name,
      { type: arg.type === "boolean" ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  try {
    const parsed = parseArgs({ args: rest, options, allowPositionals: true, allowNegative: true });
    const missing = positionals[parsed.positionals.length];
    if (missing?.[1].required) return `Expected ${missing[0].toUpperCase()}`;
    const surplus = parsed.positionals[positionals.length];
    if (surplus !== undefined) return `Unexpected argument ${surplus}`;
    const absent = flags.find(([name, arg]) => arg.required && parsed.values[name] === undefined);
    return absent && `Expected --${absent[0]}`;
  } catch (error) {
    const problem = (error as Error).message.split(". ")[0]!;
    const unknown = /^Unknown option '--(.+)'/.exec(problem)?.[1];
    return unknown === undefined ? problem : problem + nearest(unknown, Object.keys(args), "--");
  }
}

function print(text: string) {
  process.stdout.write(`${text}\n`);
}

function printError(text: string) {
  process.stderr.write(`pixelmill: ${text}\n`);
}
