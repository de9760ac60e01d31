/** One `$ command` of a page with the output that the page shows for it. */
export interface Example {
  command: string;
  output: string;
}

/** The commands of every ```console block, in order; `\` at the end of a line continues it. */
export function examplesOf(markdown: string): Example[] {
  const blocks = [...markdown.matchAll(/^```console\n(.*?)^```$/gms)].map((match) => match[1]!);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((text) => {
        const lines = text.split("\n");
        const last = lines.findIndex((line) => !line.endsWith("\\"));
        return {
          command: lines.slice(0, last + 1).join("\n"),
          output: lines
            .slice(last + 1)
            .join("\n")
            .trimEnd(),
        };
      }),
  );
}

const MARK = "--- end of output ---";

/** Runs the commands one after the other in one shell and answers what each printed. */
export async function runExamples(examples: Example[], directory: string): Promise<string[]> {
  const script = examples.map(({ command }) => `${command}\nprintf '\\n${MARK}\\n'`).join("\n");
  const shell = Bun.spawn(["bash"], {
    cwd: directory,
    stdin: new Blob([script]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = await new Response(shell.stdout).text();
  await shell.exited;
  return output
    .split(`\n${MARK}\n`)
    .slice(0, -1)
    .map((text) => text.trimEnd());
}

/** Blanks what differs from run to run: ids, write keys, message ids and times. */
export function withoutChance(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID")
    .replace(/"[0-9A-Za-z]{27}"/g, '"ID"');
}
