import { pluralize } from "../../console/format.ts";
import { orStartError } from "../../errors.ts";
import { writeCode } from "../code/code-directory.ts";
import { type ComparedCode, record } from "../code/compare.ts";
import { compareDirectory, directoryArgs } from "../code/directory-call.ts";
import { clientCommand } from "../connection/client-command.ts";
import { stateLine } from "./diff.ts";

export const pull = clientCommand(
  "pull",
  "Write the transformations and libraries of the server into a directory",
  {
    ...directoryArgs,
    "dry-run": { type: "boolean", description: "say what would be written" },
    overwrite: { type: "boolean", description: "write also over what was changed here" },
  },
  async (call) => {
    const { output, args } = call;
    const { root, state, codes } = await compareDirectory(call);
    const isDry = args["dry-run"] === true;
    const wanted = codes.filter((it) => isPulled(it, args.overwrite === true));
    const kept = codes.filter(({ state }) => state === "changed-both" || state === "changed-here");
    const conflicts = kept.filter((it) => !wanted.includes(it));
    for (const code of wanted) {
      output.print(stateLine(code, output));
      if (isDry) continue;
      const { path, server } = code;
      const write = () => writeCode(root, { path, content: server!.content });
      orStartError(`Cannot write ${root}/${path}`, write);
      record(state, path, server!);
    }
    if (!isDry) state.save();
    for (const code of conflicts) output.print(`${stateLine(code, output)}; kept`);
    output.print(`${pluralize(wanted.length, "item")} ${isDry ? "to write" : "written"}`);
    return conflicts.some(({ state }) => state === "changed-both") ? 1 : 0;
  },
);

function isPulled({ state, server }: ComparedCode, overwrites: boolean): boolean {
  if (server === undefined || state === "same") return false;
  return overwrites || state === "new-there" || state === "changed-there";
}
