import { type CommandDef, defineCommand } from "citty";
import { version } from "../../version.ts";
import type { CommandNode } from "./command-tree.ts";
import { completionScripts } from "./completion.ts";
import { manPage } from "./man-page.ts";

/** Returns the commands that print completion scripts and the man page, made from `tree`. */
export function manualCommands(tree: () => CommandNode): Record<string, CommandDef> {
  const print = (name: string, description: string, text: () => string) =>
    defineCommand({
      meta: { name, description },
      run() {
        process.stdout.write(text());
      },
    });
  const shells = Object.entries(completionScripts).map(([shell, script]) => [
    shell,
    print(`completion ${shell}`, `Print a script that makes ${shell} complete pixelmill`, () =>
      script(tree()),
    ),
  ]);
  return {
    completion: defineCommand({
      meta: { name: "completion", description: "Print a script that makes a shell complete" },
      subCommands: Object.fromEntries(shells),
    }),
    man: print("man", "Print the man page", () => manPage(tree(), version)),
  };
}
