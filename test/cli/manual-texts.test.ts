import { expect, test } from "bun:test";
import { defineCommand } from "citty";
import { allNodes, commandTree } from "../../src/cli/manual/command-tree.ts";
import { completionScripts } from "../../src/cli/manual/completion.ts";
import { manPage } from "../../src/cli/manual/man-page.ts";

const create = defineCommand({
  meta: { name: "create", description: "Make a token: don't share it" },
  args: {
    id: { type: "positional", required: true, description: "its id" },
    note: { type: "positional", required: false, description: ".a note" },
    name: { type: "string", description: "its name", required: true },
    count: { type: "string", description: "how \\many", valueHint: "number" },
    json: { type: "boolean", description: "print JSON" },
    hidden: { type: "string", description: "not shown" },
  },
});
const token = defineCommand({
  meta: { name: "token", description: "Tokens" },
  subCommands: { create },
});
const root = defineCommand({
  meta: { name: "pixelmill", description: "Takes pixels" },
  subCommands: { token },
});
const tree = commandTree(root as never, (_, flag) => flag !== "hidden");

test("a command tree has commands with the words that name them, and the flags that are shown", () => {
  expect(allNodes(tree).map(({ words }) => words)).toEqual([[], ["token"], ["token", "create"]]);
  expect(tree.below[0]!.below[0]).toEqual({
    words: ["token", "create"],
    description: "Make a token: don't share it",
    flags: [
      { name: "name", description: "its name", value: "text", isRequired: true },
      { name: "count", description: "how \\many", value: "number", isRequired: false },
      { name: "json", description: "print JSON", value: undefined, isRequired: false },
    ],
    positionals: [
      { name: "id", description: "its id", isRequired: true },
      { name: "note", description: ".a note", isRequired: false },
    ],
    below: [],
  });
});

test.each([
  [
    "bash",
    [
      '      "token"|"token create") command=',
      '    "") words="token --help" ;;',
      '    "token") words="create --help" ;;',
      '    "token create") words="--name= --count= --json --help" ;;',
    ],
  ],
  [
    "zsh",
    [
      '      "token"|"token create") command=',
      '    "")',
      "      commands=('token:Tokens')",
      "      flags=('--help:tell what it does')",
      "      ;;",
      '    "token")',
      "      commands=('create:Make a token: don'\\''t share it')",
      "      flags=('--help:tell what it does')",
      "      ;;",
      '    "token create")',
      "      commands=()",
      "      flags=('--name=:its name' '--count=:how \\many' '--json:print JSON' '--help:tell what it does')",
      "      ;;",
    ],
  ],
  [
    "fish",
    [
      "      case ' token' ' token create'",
      "complete -c pixelmill -f -n '__pixelmill_is' -a token -d 'Tokens'",
      "complete -c pixelmill -f -n '__pixelmill_is token' -a create -d 'Make a token: don\\'t share it'",
      "complete -c pixelmill -n '__pixelmill_is token create' -l name -r -d 'its name'",
      "complete -c pixelmill -n '__pixelmill_is token create' -l count -r -d 'how \\\\many'",
      "complete -c pixelmill -n '__pixelmill_is token create' -l json -d 'print JSON'",
    ],
  ],
] as const)("the script of %s has the words of each command, quoted", (shell, expected) => {
  const script = completionScripts[shell](tree);
  for (const line of expected) expect(script).toContain(`\n${line}`);
  expect(script.split("\n", 2).join("\n")).toContain(`written by: pixelmill completion ${shell}`);
});

test("the man page shows commands with arguments and flags, and escapes what roff obeys", () => {
  const page = manPage(tree, "1.0-a");
  const [head, , name] = page.split("\n");
  expect(head).toBe('.TH PIXELMILL 1 "" "pixelmill 1.0\\-a" "User Commands"');
  expect(name).toBe("pixelmill \\- Takes pixels");
  const commands = page.slice(page.indexOf(".SH COMMANDS"), page.indexOf(".SH ENVIRONMENT"));
  expect(commands.split("\n")).toEqual([
    ".SH COMMANDS",
    '.SS "token"',
    "\\fBpixelmill token\\fR",
    ".br",
    "Tokens: create.",
    '.SS "token create"',
    "\\fBpixelmill token create\\fR \\fIID\\fR [\\fINOTE\\fR]",
    ".br",
    "Make a token: don't share it.",
    ".TP",
    "\\fIID\\fR",
    "its id",
    ".TP",
    "\\fINOTE\\fR",
    "\\&.a note",
    ".TP",
    "\\fB\\-\\-name\\fR=\\fItext\\fR",
    "its name",
    ".TP",
    "\\fB\\-\\-count\\fR=\\fInumber\\fR",
    "how \\emany",
    ".TP",
    "\\fB\\-\\-json\\fR",
    "print JSON",
    "",
  ]);
  for (const status of ["0", "1", "2", "3"]) expect(page).toContain(`\n.TP\n${status}\n`);
  expect(page).toEndWith("\n");
});
