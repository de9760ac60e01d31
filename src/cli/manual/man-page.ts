import { allNodes, type CommandNode } from "./command-tree.ts";

/** Returns the man page of `pixelmill` (section 1) in roff, made from the command tree. */
export function manPage(tree: CommandNode, version: string): string {
  const commands = allNodes(tree).slice(1);
  return [
    `.TH PIXELMILL 1 "" ${quoted(`pixelmill ${version}`)} ${quoted("User Commands")}`,
    ".SH NAME",
    `pixelmill \\- ${text(tree.description)}`,
    ".SH SYNOPSIS",
    ".B pixelmill",
    ".I command",
    "[\\fIflags\\fR]",
    ".SH DESCRIPTION",
    "One executable that takes pixels and events of SDKs, runs user code over them and delivers",
    "the results.",
    "It is the server, and the client of a running server.",
    ".SH COMMANDS",
    ...commands.flatMap(commandLines),
    ...environment,
    ...exitStatus,
  ]
    .join("\n")
    .concat("\n");
}

function commandLines({ words, description, flags, positionals, below }: CommandNode): string[] {
  const named = positionals.map(({ name, isRequired }) => {
    const shown = `\\fI${text(name.toUpperCase())}\\fR`;
    return isRequired ? shown : `[${shown}]`;
  });
  const title = [`\\fBpixelmill ${text(words.join(" "))}\\fR`, ...named].join(" ");
  const end = below.length > 0 ? `: ${below.map(({ words }) => words.at(-1)).join(", ")}` : "";
  return [
    `.SS ${quoted(words.join(" "))}`,
    title,
    ".br",
    `${text(description + end)}.`,
    ...positionals.flatMap((it) => item(`\\fI${text(it.name.toUpperCase())}\\fR`, it.description)),
    ...flags.flatMap(({ name, value, description }) => {
      const shown = `\\fB\\-\\-${text(name)}\\fR`;
      return item(value === undefined ? shown : `${shown}=\\fI${text(value)}\\fR`, description);
    }),
  ];
}

const item = (title: string, description: string) => [".TP", title, text(description)];

const environment = [
  ".SH ENVIRONMENT",
  ...item("\\fBPIXELMILL_SERVER\\fR", "control plane that a client asks"),
  ...item("\\fBPIXELMILL_TOKEN\\fR", "token of the API"),
  ...item("\\fBPIXELMILL_PROFILE\\fR", "name of a profile"),
  ...item("\\fBPIXELMILL_CONFIG\\fR", "configuration file of a server"),
  ...item("\\fBPIXELMILL_\\fR\\fISETTING\\fR", "a setting of a server, dots as underscores"),
  ...item("\\fBNO_COLOR\\fR", "print no colours"),
  ".SH FILES",
  ...item("\\fI~/.config/pixelmill/profiles.toml\\fR", "servers and tokens of a client, mode 0600"),
  ...item("\\fIpixelmill.toml\\fR", "settings of a server"),
];

const exitStatus = [
  ".SH EXIT STATUS",
  ...item("0", "done; nothing to report"),
  ...item("1", "failed, or found something: trouble, a failed test, a difference"),
  ...item("2", "the command line is wrong"),
  ...item("3", "the server of a client is away, or refused the request"),
];

/** Escapes a text as one line of roff. Otherwise a dot at its start would be an instruction. */
function text(raw: string): string {
  const escaped = raw.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("\n", " ");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

const quoted = (raw: string) => `"${text(raw).replaceAll('"', "\\(dq")}"`;
