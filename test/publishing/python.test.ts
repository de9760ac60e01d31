import { afterAll, expect, test } from "bun:test";
import { createPublisher } from "../../src/publishing/create-publisher.ts";
import type { CreateCodeInput } from "../../src/publishing/publisher.ts";
import { freshWorkspace } from "../catalog/_setup.ts";
import { PATIENCE_MS, testSandbox } from "../sandbox/support.ts";
import { code, refusalOf } from "./_setup.ts";

const sandbox = testSandbox();
afterAll(() => sandbox.close());

/** A fresh workspace, and publishing of Python with the real sandbox. */
async function workspaceWithPublisher() {
  const { catalog, workspaceId } = await freshWorkspace();
  const publishing = createPublisher({ catalog, sandbox });
  const publish = (kind: "transformation" | "library", input: Partial<CreateCodeInput>) =>
    publishing.create(workspaceId, kind, code({ publish: true, language: "pythonfaas", ...input }));
  return { catalog, workspaceId, publishing, publish };
}

test(
  "libraries import libraries, and the transformation runs with all of them",
  async () => {
    const { catalog, workspaceId, publishing, publish } = await workspaceWithPublisher();
    await publish("library", { name: "inner", code: "def double(n):\n    return 2 * n\n" });
    const outer = "import inner\n\ndef quadruple(n):\n    return inner.double(inner.double(n))\n";
    await publish("library", { name: "Outer lib", language: "python", code: outer });
    const text =
      "import json\nfrom outerLib import quadruple\n\ndef transformEvent(event, metadata):\n" +
      '    log("seen", event["type"])\n    return {"n": quadruple(3), "id": metadata(event)["transformationId"]}\n';
    const { resource, revision } = await publish("transformation", { name: "User", code: text });
    expect(catalog.code.publication(resource)?.imports).toEqual(["json", "outerLib"]);
    const transformations = [{ versionId: revision.versionId }];
    const result = await publishing.test(workspaceId, { transformations, libraries: [] });
    const event = { n: 12, id: resource.id };
    expect(result.successTestResults[0]?.result.output.transformedEvents).toEqual([event, event]);
  },
  2 * PATIENCE_MS,
);

const broken: [name: string, code: string, detail: object][] = [
  [
    "a syntax error",
    "def transformEvent(event, metadata)\n    return event\n",
    {
      path: "/code",
      line: 1,
      column: expect.any(Number),
      message: expect.stringContaining("expected ':'"),
    },
  ],
  [
    "an import that is not allowed",
    "import os\n\ndef transformEvent(event, metadata):\n    return event\n",
    { path: "/code", line: 1, message: expect.stringContaining("Import of 'os' is not allowed.") },
  ],
  [
    "an error on an event",
    'def transformEvent(event, metadata):\n    return event["nope"]\n',
    { path: "/events/0", line: 2, message: expect.stringContaining("KeyError") },
  ],
];

test.each(broken)(
  "%s is refused with its place",
  async (_, text, detail) => {
    const { catalog, workspaceId, publish } = await workspaceWithPublisher();
    const refused = await refusalOf(() => publish("transformation", { code: text }));
    expect(refused.details?.[0]).toMatchObject(detail);
    expect([...catalog.code.listPublished(workspaceId, "transformation")]).toEqual([]);
  },
  300_000,
);
