import { defineCommand } from "citty";
import { pluralize } from "../../console/format.ts";
import { StartError } from "../../errors.ts";
import { clientEnvironment } from "../../settings/client-environment.ts";
import { clientCommand } from "../connection/client-command.ts";
import { switchFlag, textFlag } from "../terminal/flags.ts";
import { plain } from "../terminal/text.ts";
import { importCode } from "./import-code.ts";
import { importResources } from "./import-resources.ts";
import { ImportRun } from "./import-run.ts";
import { RudderStackApi } from "./rudderstack-api.ts";

const URL_DEFAULT = "https://api.rudderstack.com";

const rudderstack = clientCommand(
  "import rudderstack",
  "Copy a workspace of RudderStack's cloud, without secrets; what was copied before stays",
  {
    url: textFlag(`address of RudderStack's API [${URL_DEFAULT}]`, "url"),
    "rudderstack-token": textFlag(
      "token of RudderStack, else RUDDERSTACK_ACCESS_TOKEN; others see it in ps",
      "token",
    ),
    "dry-run": switchFlag("say what would be copied"),
  },
  async ({ client, output, args }) => {
    const url = String(args.url ?? URL_DEFAULT);
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
      throw new StartError("Expected --url to begin with http:// or https://");
    }
    const given = args["rudderstack-token"] as string | undefined;
    const token = given ?? clientEnvironment().rudderStackToken;
    if (token === undefined) {
      throw new StartError("Expected a token of RudderStack: set RUDDERSTACK_ACCESS_TOKEN");
    }
    const remote = new RudderStackApi(url, token, (text) =>
      output.note(`pixelmill: ${plain(text)}`),
    );
    const run = new ImportRun(output, args["dry-run"] === true);
    // Everything is read before anything is written.
    const sources = await remote.items("sources");
    const destinations = await remote.items("destinations");
    const connections = await remote.connections();
    const libraries = await remote.code("library");
    const transformations = await remote.code("transformation");
    await importResources(client, run, { sources, destinations, connections });
    await importCode(client, run, { libraries, transformations });
    output.print(`${pluralize(run.copied, "item")} ${run.isDry ? "to copy" : "copied"}`);
    return run.hasFailed ? 1 : 0;
  },
);

export const importCommand = defineCommand({
  meta: { name: "import", description: "Copy what another product has" },
  subCommands: { rudderstack },
});
