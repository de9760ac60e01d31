import { createInterface } from "node:readline/promises";

/** Asks the user a question on the terminal. Returns true only for the answers `y` and `yes`. */
export async function confirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
