import { afterAll, expect, test } from "bun:test";
import { createPublisher } from "../../src/publishing/create-publisher.ts";
import type { CreateCodeInput } from "../../src/publishing/publisher.ts";
import type { GuestSandbox } from "../../src/sandbox/guest-sandbox.ts";
import { freshWorkspace } from "../catalog/_setup.ts";
import { hasty, PATIENCE_MS, testSandbox } from "../sandbox/support.ts";
import { code, refusalOf } from "./_setup.ts";

const sandbox = testSandbox();
/** For code that loops. */
const strict = testSandbox({ limits: hasty });
afterAll(() => Promise.all([sandbox.close(), strict.close()]));

/** Publishing over a real sandbox: real guests compile, link and run the code. */
async function house(sandbox: GuestSandbox) {
  const { catalog, workspaceId } = await freshWorkspace();
  const publishing = createPublisher({ catalog, sandbox });
  const publish = (kind: "transformation" | "library", input: Partial<CreateCodeInput>) =>
    publishing.create(workspaceId, kind, code({ publish: true, ...input }));
  return { catalog, workspaceId, publishing, publish };
}

const passThrough = "export function transformEvent(event) { return event; }";

test(
  "code that uses a library, a credential and metadata is published, and runs the same in a test",
  async () => {
    const { catalog, workspaceId, publishing, publish } = await house(sandbox);
    await catalog.credentials.put(workspaceId, "key", "from-the-catalog");
    await publish("library", { name: "Get Cube", code: "export default (n) => n ** 3;" });
    const text = `// import nothing from "nowhere"
import cube from "getCube";
export function transformEvent(event, metadata) {
  log("seen", event.type);
  const { transformationId, eventType, messageId } = metadata(event);
  const key = getCredential("key");
  return { cube: cube(3), key, same: messageId === event.messageId, eventType, transformationId };
}`;
    const { resource, revision } = await publish("transformation", { name: "User", code: text });
    expect(catalog.code.publication(resource)?.imports).toEqual(["getCube"]);
    const transformations = [{ versionId: revision.versionId }];
    const result = await publishing.test(workspaceId, { transformations, libraries: [] });
    const output = { cube: 27, key: "from-the-catalog", same: true, transformationId: resource.id };
    expect(result.successTestResults[0]?.result.output).toEqual({
      transformedEvents: [
        { ...output, eventType: "page" },
        { ...output, eventType: "track" },
      ],
      logs: ["Log: seen page", "Log: seen track"],
    });
  },
  PATIENCE_MS,
);

const broken: [name: string, code: string, detail: object][] = [
  [
    "a syntax error",
    "export function transformEvent(event) {\n  return ;;)\n}",
    { path: "/code", line: 2, message: expect.stringContaining("SyntaxError") },
  ],
  [
    "no transformEvent",
    "function transformEvent(event) { return event; }",
    {
      path: "/code",
      message: expect.stringContaining("Expected one of transformEvent,transformBatch"),
    },
  ],
  [
    "a throw while loading",
    `throw new Error("boom");\n${passThrough}`,
    { path: "/code", line: 1, message: expect.stringContaining("boom") },
  ],
  [
    "an unknown import",
    `// From disk.\nimport fs from "fs";\n${passThrough}`,
    {
      ...{ path: "/code", line: 2, column: 16 },
      message: "Error: import from fs failed. Module not found.",
    },
  ],
  [
    "a missing export",
    `import { nope } from "lib";\n${passThrough}`,
    { path: "/code", message: expect.stringContaining("does not provide an export named 'nope'") },
  ],
  [
    "an error on some events",
    'export function transformEvent(event) {\n  if (event.type === "track") event.a.b;\n  return event;\n}',
    {
      path: "/events/1",
      line: 2,
      column: expect.any(Number),
      message: expect.stringContaining("TypeError"),
    },
  ],
  [
    "an endless loop",
    "export function transformEvent(event) { for (;;); }",
    { path: "/events/0", message: expect.any(String) },
  ],
];

test.each(broken)(
  "%s is refused with its place, and nothing is stored",
  async (_, text, detail) => {
    const { catalog, workspaceId, publish } = await house(
      /for \(;;\)/.test(text) ? strict : sandbox,
    );
    await publish("library", { name: "lib", code: "export const there = 1;" });
    const refused = await refusalOf(() => publish("transformation", { name: "User", code: text }));
    expect(refused.refusal).toBe("invalid");
    expect(refused.details?.[0]).toMatchObject(detail);
    expect([...catalog.code.listPublished(workspaceId, "transformation")]).toEqual([]);
  },
  300_000,
);

test(
  "a library that would break its importer is refused, and the old one stays",
  async () => {
    const { catalog, workspaceId, publishing, publish } = await house(sandbox);
    const { resource, revision } = await publish("library", {
      name: "lib",
      code: "export const a = 1;",
    });
    const user = `import { a } from "lib"; export function transformEvent() { return { a }; }`;
    await publish("transformation", { name: "User", code: user });
    const change = { code: "export const b = 2;", publish: true };
    const update = () => publishing.update(workspaceId, "library", resource.id, change);
    const refused = await refusalOf(update);
    expect(refused.details).toEqual([
      {
        path: "/code",
        message:
          "User: SyntaxError: The requested module 'lib' does not provide an export named 'a'",
      },
    ]);
    expect(catalog.code.libraryByImportName(workspaceId, "javascript", "lib")).toEqual(revision);
  },
  PATIENCE_MS,
);

const libraries: [code: string, message: string][] = [
  ["export const a = ;", "Unexpected token"],
  ["throw new Error('boom')", "boom"],
  ['import x from "other";', "cannot import libraries"],
];

test.each(libraries)(
  "the library %j is refused",
  async (text, message) => {
    const { publish } = await house(sandbox);
    await publish("library", { name: "other", code: "export default 1;" });
    const refused = await refusalOf(() => publish("library", { name: "lib", code: text }));
    expect(refused.details?.[0]).toMatchObject({
      path: "/code",
      message: expect.stringContaining(message),
    });
  },
  300_000,
);

test(
  "suites compare what real code returns",
  async () => {
    const { workspaceId, publishing } = await house(sandbox);
    const text =
      "export function transformEvent(event) { return event.n > 1 ? [event, event] : null; }";
    const { revision } = await publishing.create(
      workspaceId,
      "transformation",
      code({ code: text }),
    );
    const input = [{ n: 1 }, { n: 2 }];
    const testSuite = [
      { id: "1", name: "same", input, expectedOutput: [{ n: 2 }, { n: 2 }] },
      { id: "2", name: "other", input, expectedOutput: [{ n: 2 }] },
    ];
    const transformations = [{ versionId: revision.versionId, testSuite }];
    const result = await publishing.runSuites(workspaceId, { transformations, libraries: [] });
    const results = result.validationOutput.transformations[0]?.testResult.results;
    expect(results?.map(({ status }) => status)).toEqual(["pass", "fail"]);
  },
  PATIENCE_MS,
);

test(
  "a library that its importer cannot load with is refused, although the request names the importer",
  async () => {
    const { catalog, workspaceId, publishing, publish } = await house(sandbox);
    const library = await publish("library", {
      name: "textLib",
      code: "export const up = (text) => text.toUpperCase();",
    });
    const shout = await publish("transformation", {
      name: "Shout",
      code: 'import { up } from "textLib";\nexport const transformEvent = (event) => ({ ...event, type: up(event.type) });',
    });
    const draft = { code: "export const down = (text) => text.toLowerCase();", publish: false };
    const next = await publishing.update(workspaceId, "library", library.resource.id, draft);
    const transformations = [{ versionId: shout.revision.versionId }];
    const libraries = [{ versionId: next.revision.versionId }];
    const result = await publishing.publish(workspaceId, { transformations, libraries });
    expect(result).toMatchObject({
      published: false,
      validationOutput: {
        transformations: [
          {
            pass: false,
            message: expect.stringContaining("does not provide an export named 'up'"),
          },
        ],
      },
    });
    const { published } = catalog.code.resource(workspaceId, "library", library.resource.id);
    expect(published).toBe(library.revision.versionId);
  },
  PATIENCE_MS,
);
