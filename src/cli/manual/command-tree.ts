import type { ArgDef, ArgsDef, CommandDef } from "citty";

/** A command with its flags, arguments and subcommands, as the manual and completions need it. */
export interface CommandNode {
  /** Words after `pixelmill` that name the command, such as `["token", "create"]`. */
  words: string[];
  description: string;
  flags: CommandFlag[];
  positionals: { name: string; description: string; isRequired: boolean }[];
  below: CommandNode[];
}

interface CommandFlag {
  name: string;
  description: string;
  /** Placeholder for the flag's value, such as `number`. Undefined for a flag without value. */
  value: string | undefined;
  isRequired: boolean;
}

/** Returns the tree of `command` and its subcommands, without flags that `isShown` rejects. */
export function commandTree(
  command: CommandDef,
  isShown: (command: CommandDef, flag: string) => boolean,
  words: string[] = [],
): CommandNode {
  const args = Object.entries((command.args ?? {}) as ArgsDef) as [string, ArgDef][];
  const below = Object.entries((command.subCommands ?? {}) as Record<string, CommandDef>);
  return {
    words,
    description: (command.meta as { description: string }).description,
    flags: args
      .filter(([name, { type }]) => type !== "positional" && isShown(command, name))
      .map(([name, arg]) => ({
        name,
        description: arg.description!,
        value: arg.type === "boolean" ? undefined : (arg.valueHint ?? "text"),
        isRequired: arg.required === true,
      })),
    positionals: args
      .filter(([, { type }]) => type === "positional")
      .map(([name, arg]) => ({
        name,
        description: arg.description!,
        isRequired: arg.required === true,
      })),
    below: below.map(([name, child]) => commandTree(child, isShown, [...words, name])),
  };
}

/** Lists a command and all its subcommands. Each command precedes its own subcommands. */
export function allNodes(node: CommandNode): CommandNode[] {
  return [node, ...node.below.flatMap(allNodes)];
}
