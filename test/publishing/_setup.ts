import type { Catalog } from "../../src/catalog/catalog.ts";
import { createPublisher, type Publisher } from "../../src/publishing/create-publisher.ts";
import type { CreateCodeInput } from "../../src/publishing/publisher.ts";
import { freshWorkspace } from "../catalog/_setup.ts";
import { type MarkSandbox, markSandbox } from "./sandbox-double.ts";

export { destination, publish, refusalOf } from "../catalog/_setup.ts";

export interface House {
  catalog: Catalog;
  workspaceId: string;
  sandbox: MarkSandbox;
  publishing: Publisher;
}

export async function freshPublishing(): Promise<House> {
  const { catalog, workspaceId } = await freshWorkspace();
  const sandbox = markSandbox();
  return { catalog, workspaceId, sandbox, publishing: createPublisher({ catalog, sandbox }) };
}

export const code = (input: Partial<CreateCodeInput> = {}): CreateCodeInput => ({
  name: "Thing",
  code: "",
  language: "javascript",
  publish: false,
  ...input,
});

/** The workspace's code as a caller sees it, to show that a refusal changed nothing. */
export function view({ catalog, workspaceId }: House): unknown {
  const kinds = ["transformation", "library"] as const;
  return kinds.map((kind) =>
    [...catalog.code.listPublished(workspaceId, kind)].map(({ resource, revision }) => ({
      resource,
      revision,
      publication: catalog.code.publication(resource),
    })),
  );
}
