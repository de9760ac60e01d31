import { join } from "node:path";
import type { Catalog } from "../catalog/catalog.ts";
import type { Workspace } from "../catalog/model.ts";
import { ApiError } from "../errors.ts";
import { reachableUrl } from "../http/url.ts";
import type { Positions } from "../log/positions.ts";
import type { Publisher } from "../publishing/create-publisher.ts";

const DEMO = "Demo";

const libraryCode = `// Used by the demo transformation as: import { shout } from "demoText"
export function shout(text) {
  return String(text).toUpperCase() + "!";
}
`;

const transformationCode = `import { shout } from "demoText";

export function transformEvent(event, metadata) {
  const { sourceName, transformationVersionId } = metadata(event);
  event.properties.greeting = shout(\`hello from \${sourceName}\`);
  event.context.transformedBy = transformationVersionId;
  return event;
}
`;

export interface DemoDeps {
  catalog: Catalog;
  publishing: Publisher;
  logEnds: () => Promise<Positions>;
}

/**
 * Parts needed to print the demo's instructions: a function that prints a line, the addresses and
 * the directory that the instructions name, and a check whether user code can run.
 */
export interface DemoOutput {
  print(line: string): void;
  dataPlaneUrl: string;
  controlPlaneUrl: string;
  filesDirectory: string;
  /** Returns the reason why user code cannot run here; undefined when it can. */
  whyNoCode(): string | undefined;
}

/** Creates the demo, or finds the one that an earlier start created, and prints how to try it. */
export async function showDemo(
  parts: DemoDeps,
  workspace: Workspace,
  { print, ...view }: DemoOutput,
): Promise<void> {
  const demo = await addDemo(parts, workspace);
  if (demo) {
    if (!demo.withCode) print(`demo: ${view.whyNoCode()}. ${WITHOUT_CODE}`);
    const query = `writeKey=${demo.writeKey}&anonymousId=me&name=Home&properties.plan=pro`;
    print(`demo: open ${reachableUrl(view.dataPlaneUrl)}/pixel/v1/page?${query}`);
    print(`demo: then look into ${join(view.filesDirectory, demo.file)}`);
  } else {
    print("demo: skipped, this data directory has sources of its own");
  }
  const controlPlane = reachableUrl(view.controlPlaneUrl);
  print(`demo: the console is ${controlPlane}/; sign in with the admin token`);
  print(`demo: the API's reference is ${controlPlane}/docs; any name, and the token as password`);
}

const WITHOUT_CODE =
  "Events arrive unchanged. User code needs Linux 5.13 or later with Landlock among the security " +
  "modules (/sys/kernel/security/lsm) and seccomp; code that is trusted like this server itself " +
  "runs without them under --sandbox-insecure";

/**
 * Creates the demo: an HTTP source, a file destination, and a transformation with a library. Adds
 * the code to an earlier demo without it. Resolves with undefined if the workspace has only other
 * sources, otherwise with:
 * - `writeKey`: write key of the source
 * - `file`: path of the destination's file in the directory of `file` destinations
 * - `withCode`: false if user code cannot run here; events then arrive unchanged
 */
async function addDemo(parts: DemoDeps, workspace: Workspace) {
  const { catalog } = parts;
  const path = "demo.jsonl";
  const file = `${workspace.id}/${path}`;
  const sources = catalog.sources.list(workspace.id, 1);
  const existing = sources.items.find(isDemo);
  if (!existing && sources.total > 0) return undefined;

  // Each step first finds what an interrupted start has left; the source is created last, and marks
  // the end.
  let destination = catalog.destinations.list(workspace.id, 1).items.find(isDemo);
  // The library is the first revision, the transformation the second. A start that was interrupted
  // between them is finished.
  const hadCode = catalog.code.revisionCount(workspace.id) > 1;
  if (existing && (!destination || hadCode)) {
    return { writeKey: existing.writeKey, file, withCode: true };
  }
  destination ??= await catalog.destinations.create(workspace.id, {
    name: DEMO,
    type: "file",
    config: { path },
  });
  const withCode = await addCode(parts, workspace.id, destination.id);
  if (existing) return { writeKey: existing.writeKey, file, withCode };
  const ends = await parts.logEnds();
  const source = await catalog.sources.create(workspace.id, { name: DEMO });
  const connection = { sourceId: source.id, destinationId: destination.id };
  await catalog.connections.create(workspace.id, connection, ends);
  return { writeKey: source.writeKey, file, withCode };
}

/**
 * Publishes the demo's library and transformation. Returns false when user code cannot run here.
 */
async function addCode(
  { catalog, publishing }: DemoDeps,
  workspaceId: string,
  destinationId: string,
): Promise<boolean> {
  try {
    if (!catalog.code.libraryByImportName(workspaceId, "javascript", "demoText")) {
      await publishing.create(workspaceId, "library", {
        name: "Demo text",
        description: "A library of the demo",
        code: libraryCode,
        language: "javascript",
        publish: true,
      });
    }
    const destination = catalog.destinations.get(workspaceId, destinationId);
    if (catalog.code.linkedTransformation(destination) === undefined) {
      await publishing.create(workspaceId, "transformation", {
        name: DEMO,
        description: "Greets every event, in capitals",
        code: transformationCode,
        language: "javascript",
        publish: true,
        destinationIds: [destinationId],
      });
    }
    return true;
  } catch (error) {
    if (!(error instanceof ApiError && error.refusal === "unavailable")) throw error;
    return false;
  }
}

const isDemo = ({ name }: { name: string }) => name === DEMO;
