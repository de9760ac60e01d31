import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missingPrograms, testWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory, waitFor } from "../e2e/server.ts";
import { start } from "./in-process.ts";

let directory: string;
const scripts: Record<string, string> = {};

async function print(...args: string[]): Promise<string> {
  const { output, ended } = start(args);
  expect(await ended).toBe(0);
  return output.text;
}

beforeAll(async () => {
  directory = temporaryDirectory();
  for (const shell of ["bash", "zsh", "fish"]) {
    scripts[shell] = join(directory, `completion.${shell}`);
    writeFileSync(scripts[shell], await print("completion", shell));
  }
  // Shells complete the arguments of commands that exist.
  writeFileSync(join(directory, "pixelmill"), "#!/bin/sh\n");
  chmodSync(join(directory, "pixelmill"), 0o755);
});
afterAll(() => removeDirectory(directory));

/** Command lines, with some of the words that complete them and one that does not. */
const lines: [line: string, some: string[], other: string][] = [
  ["pixelmill st", ["status"], "serve"],
  ["pixelmill dead-letters ", ["groups", "list", "purge", "replay"], "status"],
  ["pixelmill tail --de", ["--destination"], "--event"],
  ["pixelmill token create --na", ["--name"], "--json"],
];

/** Runs a program with a script as its input. */
async function run(command: string[]): Promise<string> {
  const path = `${directory}:${process.env.PATH}`;
  const child = Bun.spawn(command, {
    env: { PATH: path, HOME: directory, TERM: "dumb" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect({ code: await child.exited, errors }).toEqual({ code: 0, errors: "" });
  return output;
}

describe("completion", () => {
  testWith(missingPrograms("bash"))("bash completes commands and flags", async () => {
    for (const [line, some, other] of lines) {
      const words = line
        .split(" ")
        .map((word) => `'${word}'`)
        .join(" ");
      // compopt is for completions that a key asks for.
      const script = `source '${scripts.bash}'; compopt() { :; }
        COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
        _pixelmill; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const found = (await run(["bash", "-c", script])).split("\n").map(withoutValue);
      expect(found).toEqual(expect.arrayContaining(some));
      expect(found).not.toContain(other);
    }
  });

  testWith(missingPrograms("fish"))("fish completes commands and flags", async () => {
    for (const [line, some, other] of lines) {
      const script = `source '${scripts.fish}'; complete -C '${line}'`;
      const output = await run(["fish", "--no-config", "-c", script]);
      const found = output.split("\n").map((it) => withoutValue(it.split("\t")[0]!));
      expect(found).toEqual(expect.arrayContaining(some));
      expect(found).not.toContain(other);
    }
  });

  testWith(missingPrograms("zsh"))("zsh completes commands and flags", async () => {
    let screen = "";
    const child = Bun.spawn(["zsh", "-f", "-i"], {
      env: { PATH: `${directory}:${process.env.PATH}`, HOME: directory, TERM: "dumb" },
      terminal: {
        cols: 80,
        rows: 50,
        data(_, bytes) {
          screen += new TextDecoder().decode(bytes);
        },
      },
    });
    const type = (text: string) => child.terminal!.write(text);
    const shown = (text: string) => waitFor(() => screen.includes(text) || undefined, text);
    type(`autoload -U compinit; compinit -u -D; source '${scripts.zsh}'; echo re''ady\r`);
    await shown("ready");
    for (const [line, some] of lines) {
      type(`${line}\t\t`);
      for (const word of some) await shown(word);
      type("\x15");
      screen = "";
    }
    type("exit\r");
    await child.exited;
  });
});

const withoutValue = (word: string) => word.replace(/=$/, "");

describe("the man page", () => {
  testWith(missingPrograms("groff"))("is formatted without a warning", async () => {
    const page = join(directory, "pixelmill.1");
    writeFileSync(page, await print("man"));
    const shown = await run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", page]);
    for (const name of [
      "serve",
      "token create",
      "status",
      "dead-letters purge",
      "completion zsh",
    ]) {
      expect(shown).toContain(`pixelmill ${name}`);
    }
    expect(shown).toContain("--destination=text");
    expect(Math.max(...shown.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});

test("a completion of another shell is an unknown command with a suggestion", async () => {
  const { errors, ended } = start(["completion", "bsh"]);
  expect(await ended).toBe(2);
  expect(errors.text).toStartWith("pixelmill: Unknown command bsh; the nearest is bash");
});
