import { afterAll, expect, test } from "bun:test";
import { createPublisher } from "../../src/publishing/create-publisher.ts";
import { freshWorkspace } from "../catalog/_setup.ts";
import { PATIENCE_MS, testSandbox } from "../sandbox/support.ts";
import { code, refusalOf } from "./_setup.ts";

const sandbox = testSandbox();
afterAll(() => sandbox.close());

test(
  "a Python library that would break the live transformation is refused, published or named",
  async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const publishing = createPublisher({ catalog, sandbox });
    const published = { publish: true, language: "pythonfaas" } as const;
    const { resource } = await publishing.create(
      workspaceId,
      "library",
      code({ ...published, name: "inner", code: "def double(n):\n    return 2 * n\n" }),
    );
    const text =
      'import inner\n\ndef transformEvent(event, metadata):\n    return {"n": inner.double(3)}\n';
    const { revision } = await publishing.create(
      workspaceId,
      "transformation",
      code({ ...published, name: "User", code: text }),
    );
    const change = { code: "def triple(n):\n    return 3 * n\n", publish: true };
    const update = () => publishing.update(workspaceId, "library", resource.id, change);
    const refused = await refusalOf(update);
    expect(refused.details?.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^User: AttributeError/),
      expect.stringMatching(/^User: AttributeError/),
    ]);
    const draft = { ...change, publish: false };
    const next = await publishing.update(workspaceId, "library", resource.id, draft);
    const libraries = [{ versionId: next.revision.versionId }];
    const transformations = [{ versionId: revision.versionId }];
    const named = await publishing.publish(workspaceId, { transformations, libraries });
    expect(named).toMatchObject({ published: false });
  },
  2 * PATIENCE_MS,
);
