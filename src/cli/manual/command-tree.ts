import type { ArgDef, ArgsDef, CommandDef } from "citty";

/** A command with its flags and the commands below it, for completion scripts and the manual. */
export interface CommandNode {
  /** Words after `pixelmill`, such as `["token", "create"]`. */
  words: string[];
  description: string;
  flags: CommandFlag[];
  positionals: { name: string; description: string; isRequired: boolean }[];
  below: CommandNode[];
}

interface CommandFlag {
  name: string;
  description: string;
  /** Placeholder for the value of the flag. Undefined for a flag without a value. */
  value: string | undefined;
  isRequired: boolean;
}

/** Describes a command and all below it. `isShown`: whether a command's usage lists a flag. */
export function commandTree(
  command: CommandDef,
  isShown: (command: CommandDef, flag: string) => boolean,
  words: string[] = [],
): CommandNode {
  const args = Object.entries((command.args ?? {}) as ArgsDef) as [string, ArgDef][];
  const below = Object.entries((command.subCommands ?? {}) as Record<string, CommandDef>);
  return {
    words,
    description: (command.meta as { description?: string }).description ?? "",
    flags: args
      .filter(([name, { type }]) => type !== "positional" && isShown(command, name))
      .map(([name, arg]) => ({
        name,
        description: arg.description ?? "",
        value: arg.type === "boolean" ? undefined : (arg.valueHint ?? "text"),
        isRequired: arg.required === true,
      })),
    positionals: args
      .filter(([, { type }]) => type === "positional")
      .map(([name, arg]) => ({
        name,
        description: arg.description ?? "",
        isRequired: arg.required === true,
      })),
    below: below.map(([name, child]) => commandTree(child, isShown, [...words, name])),
  };
}

/** Lists a command and all commands below it, each before those below it. */
export function allNodes(node: CommandNode): CommandNode[] {
  return [node, ...node.below.flatMap(allNodes)];
}
