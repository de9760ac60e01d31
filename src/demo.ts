import type { Catalog } from "./catalog/catalog.ts";
import type { Positions, Workspace } from "./catalog/model.ts";
import type { Publishing } from "./publishing/publishing.ts";

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

export interface Demo {
  writeKey: string;
  /** Relative to the directory of \`file\` destinations. */
  file: string;
}

/**
 * An HTTP source, a file destination, and a published transformation that uses a library,
 * connected. Made on the first start only; later starts find it by its name.
 */
export async function addDemo(
  parts: { catalog: Catalog; publishing: Publishing; tails: () => Positions },
  workspace: Workspace,
): Promise<Demo | undefined> {
  const { catalog, publishing } = parts;
  const path = "demo.jsonl";
  const file = `${workspace.id}/${path}`;
  const sources = catalog.sources.list(workspace.id, 1);
  const existing = sources.items.find(isDemo);
  if (existing) return { writeKey: existing.writeKey, file };
  if (sources.total > 0) return undefined;

  // Each step finds what an interrupted first start left; the source comes last and ends it.
  const destination =
    catalog.destinations.list(workspace.id, 1).items.find(isDemo) ??
    (await catalog.destinations.create(workspace.id, {
      name: DEMO,
      type: "file",
      config: { path },
    }));
  if (!catalog.code.libraryByImportName(workspace.id, "javascript", "demoText")) {
    await publishing.create(workspace.id, "library", {
      name: "Demo text",
      description: "A library of the demo",
      code: libraryCode,
      language: "javascript",
      publish: true,
    });
  }
  if (catalog.code.linkOf(workspace.id, destination.id) === undefined) {
    await publishing.create(workspace.id, "transformation", {
      name: DEMO,
      description: "Greets every event, in capitals",
      code: transformationCode,
      language: "javascript",
      publish: true,
      destinationIds: [destination.id],
    });
  }
  const source = await catalog.sources.create(workspace.id, { name: DEMO });
  await catalog.connections.create(
    workspace.id,
    { sourceId: source.id, destinationId: destination.id },
    parts.tails(),
  );
  return { writeKey: source.writeKey, file };
}

const isDemo = ({ name }: { name: string }) => name === DEMO;
