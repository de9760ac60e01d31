import { type CodeContent, caseText, metadataText } from "../code/code-item.ts";
import type { ComparedCode } from "../code/compare.ts";
import { compareDirectory, directoryArgs } from "../code/directory-call.ts";
import { lineDiff } from "../code/line-diff.ts";
import { clientCommand } from "../connection/client-command.ts";
import type { CommandOutput } from "../terminal/output.ts";
import { plain, plainLines } from "../terminal/text.ts";

export const diff = clientCommand(
  "diff",
  "Show how a directory of code differs from the server; exit code 1 if it does",
  {
    ...directoryArgs,
    names: { type: "boolean", description: "print the paths alone" },
  },
  async (call) => {
    const { codes } = await compareDirectory(call);
    const differing = codes.filter(({ state }) => state !== "same");
    for (const code of differing) {
      call.output.print(stateLine(code, call.output));
      if (call.args.names !== true) printContents(code, call.output);
    }
    if (differing.length === 0) call.output.print("nothing differs");
    return differing.length > 0 ? 1 : 0;
  },
);

const words: Record<ComparedCode["state"], string> = {
  same: "same",
  "new-here": "only here",
  "new-there": "only on the server",
  "changed-here": "changed here",
  "changed-there": "changed on the server",
  "changed-both": "changed here and on the server",
};

/**
 * Formats, as one line, the path of a transformation or library and how it differs from the
 * server's.
 */
export function stateLine({ path, state }: ComparedCode, output: CommandOutput): string {
  return `${output.paint("bold", plain(path))}: ${words[state]}`;
}

/**
 * Prints, as a diff, how a push would change the server's code: the server's lines as removed, and
 * the lines in the directory as added.
 */
function printContents({ local, server }: ComparedCode, output: CommandOutput): void {
  const here = local ? filesOf(local.content) : new Map<string, string>();
  const there = server ? filesOf(server.content) : new Map<string, string>();
  for (const name of [...new Set([...there.keys(), ...here.keys()])]) {
    const lines = lineDiff(there.get(name) ?? "", here.get(name) ?? "");
    if (lines.length > 0) output.print(output.paint("dim", `  ${plain(name)}`));
    for (const line of lines) {
      const text = plainLines(line);
      if (line.startsWith("+")) output.print(`  ${output.paint("green", text)}`);
      else output.print(`  ${line.startsWith("-") ? output.paint("red", text) : text}`);
    }
  }
}

function filesOf(content: CodeContent): Map<string, string> {
  return new Map([
    [`${content.kind}.json`, metadataText(content)],
    ["code", content.code],
    ...content.tests.map((it): [string, string] => [`test ${it.name}`, caseText(it)]),
  ]);
}
