import { clientCommand } from "../connection/client-command.ts";
import { jsonText } from "../terminal/text.ts";
import { overviewLines } from "./overview-text.ts";

export const status = clientCommand(
  "status",
  "Tell what a server does and what needs a person; exit code 1 if something does",
  { json: { type: "boolean", description: "print JSON" } },
  async ({ client, server, output, args }) => {
    const overview = await client.call("GET /v2/overview");
    if (args.json === true) output.print(jsonText(overview, 2));
    else {
      const { workspace } = await client.call("GET /v2/workspace");
      output.print(...overviewLines({ overview, workspace: workspace.name, server }, output));
    }
    return overview.problems.length > 0 ? 1 : 0;
  },
);
