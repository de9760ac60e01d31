import { allNodes, type CommandNode } from "./command-tree.ts";

/** Functions that make a completion script for the commands and flags of `pixelmill`, by shell. */
export const completionScripts = { bash, zsh, fish };

const HEAD = "# Completion of pixelmill, written by: pixelmill completion";

/** Returns the words that may follow a command on the command line: its subcommands and flags. */
function candidates({ below, flags }: CommandNode): string[] {
  return [
    ...below.map(({ words }) => words.at(-1)!),
    ...flags.map(({ name, value }) => (value === undefined ? `--${name}` : `--${name}=`)),
    "--help",
  ];
}

function bash(tree: CommandNode): string {
  const cases = allNodes(tree).map(
    (node) => `    "${node.words.join(" ")}") words="${candidates(node).join(" ")}" ;;`,
  );
  return `${HEAD} bash
_pixelmill() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" command="" words="" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${command:+$command }\${COMP_WORDS[at]}" in
      ${commandPattern(tree)}) command="\${command:+$command }\${COMP_WORDS[at]}" ;;
    esac
  done
  case "$command" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ "\${COMPREPLY[0]-}" == *= ]] && compopt -o nospace
  return 0
}
complete -o default -F _pixelmill pixelmill
`;
}

function zsh(tree: CommandNode): string {
  const cases = allNodes(tree).map((node) => {
    const commands = node.below.map((it) => described(it.words.at(-1)!, it.description));
    const flags = node.flags.map(({ name, value, description }) =>
      described(value === undefined ? `--${name}` : `--${name}=`, description),
    );
    return [
      `    "${node.words.join(" ")}")`,
      `      commands=(${commands.join(" ")})`,
      `      flags=(${[...flags, described("--help", "tell what it does")].join(" ")})`,
      "      ;;",
    ].join("\n");
  });
  return `#compdef pixelmill
${HEAD} zsh
_pixelmill() {
  local command="" at
  local -a commands flags
  for ((at = 2; at < CURRENT; at++)); do
    case "\${command:+$command }\${words[at]}" in
      ${commandPattern(tree)}) command="\${command:+$command }\${words[at]}" ;;
    esac
  done
  case "$command" in
${cases.join("\n")}
  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe -o flag flags -S ""
  elif (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}
if [[ "$funcstack[1]" == _pixelmill ]]; then _pixelmill "$@"; else compdef _pixelmill pixelmill; fi
`;
}

/** Formats a completion word and its description as one item for zsh. */
const described = (word: string, description: string) =>
  quoted(`${word.replaceAll(":", "\\:")}:${description}`);

function fish(tree: CommandNode): string {
  const lines = allNodes(tree).flatMap((node) => {
    const condition = `-n ${fishQuoted(`__pixelmill_is ${node.words.join(" ")}`.trim())}`;
    return [
      ...node.below.map(
        (it) =>
          `complete -c pixelmill -f ${condition} -a ${it.words.at(-1)} -d ${fishQuoted(it.description)}`,
      ),
      ...node.flags.map(
        ({ name, value, description }) =>
          `complete -c pixelmill ${condition} -l ${name}${value === undefined ? "" : " -r"} -d ${fishQuoted(description)}`,
      ),
    ];
  });
  return `${HEAD} fish
function __pixelmill_is
  set -l command
  for word in (commandline -opc)[2..]
    switch "$command $word"
      case ${allNodes(tree)
        .slice(1)
        .map(({ words }) => fishQuoted(` ${words.join(" ")}`))
        .join(" ")}
        set command "$command $word"
    end
  end
  set -l asked ""
  test (count $argv) -gt 0; and set asked (string join "" " "$argv)
  test "$command" = "$asked"
end
complete -c pixelmill -l help -d 'tell what it does'
${lines.join("\n")}
`;
}

/**
 * Returns a pattern for a shell's `case` that matches the full name of any command, without the
 * word `pixelmill`, such as `token create`.
 */
function commandPattern(tree: CommandNode): string {
  return allNodes(tree)
    .slice(1)
    .map(({ words }) => `"${words.join(" ")}"`)
    .join("|");
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const fishQuoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
