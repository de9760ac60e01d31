import { expect, test } from "bun:test";
import { type Client, RequestRefused } from "../../src/api/client.ts";
import { importCode } from "../../src/cli/import/import-code.ts";
import { importResources } from "../../src/cli/import/import-resources.ts";
import { ImportRun } from "../../src/cli/import/import-run.ts";
import type { CommandOutput } from "../../src/cli/terminal/output.ts";

type Answer = (parts: { body?: any; query?: any; params?: any }) => unknown;

/** A run of an import against a server that gives prepared answers, and what it sent and printed. */
function openRun(answers: Record<string, Answer>, isDry = false) {
  const sent: [route: string, body: unknown][] = [];
  const call = async (route: string, parts: { body?: unknown } = {}) => {
    if (!route.startsWith("GET")) sent.push([route, parts.body]);
    const answer = answers[route]?.(parts as object);
    if (answer === undefined) throw new Error(`No answer to ${route}`);
    return answer;
  };
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const run = new ImportRun({ print, note: print } as unknown as CommandOutput, isDry);
  return { client: { call } as unknown as Client, run, sent, lines };
}

/** Lists of this server: pages of items, of which the last one is empty. */
const pages =
  (kind: string, ...items: object[]): Answer =>
  ({ query }) => {
    expect(query.hasExternalId).toBe(true);
    return { [kind]: items.slice(query.page - 1, query.page) };
  };
const item = (id: string, more = {}) => ({
  ...{ id, name: `N${id}`, type: "HTTP", enabled: true, config: {} },
  ...more,
});
const refused = () => {
  throw Object.assign(Object.create(RequestRefused.prototype), { message: "too many" });
};
const resources = {
  sources: [item("s1"), item("s2")],
  destinations: [
    item("d1", { type: "Kafka", config: { topic: "t", password: "*" } }),
    item("d2", { type: "OTHER", config: { password: "kept" } }),
  ],
  connections: [
    { id: "c1", sourceId: "s1", destinationId: "d1", enabled: true },
    { id: "c2", sourceId: "s2", destinationId: "d2", enabled: false },
    { id: "c3", sourceId: "gone", destinationId: "d1", enabled: true },
    { id: "c4", sourceId: "gone", destinationId: "d2", enabled: true },
  ],
};
const listed = {
  "GET /v2/sources": pages("sources", { id: "S0" }, { id: "S1", externalId: "s1" }),
  "GET /v2/destinations": pages("destinations"),
  "GET /v2/connections": pages("connections", { id: "C3", externalId: "c3" }),
  "GET /v2/destination-types": () => ({
    destinationTypes: [
      {
        type: "KAFKA",
        deliveredBy: "rudder-server",
        config: { properties: { topic: {}, password: { writeOnly: true } } },
      },
      {
        type: "other",
        deliveredBy: "pixelmill",
        config: { properties: { password: { writeOnly: true } } },
      },
    ],
  }),
};

test("resources that are not here are copied without their secrets, those that are stay", async () => {
  const { client, run, sent, lines } = openRun({
    ...listed,
    "POST /v2/sources": () => ({ source: { id: "S2" } }),
    "POST /v2/destinations": ({ body }) =>
      body.externalId === "d2" ? refused() : { destination: { id: "D1" } },
    "POST /v2/connections": () => ({ connection: { id: "C1" } }),
  });
  await importResources(client, run, resources);
  const byRudderServer = { deliveredBy: "rudder-server", enabled: true };
  expect(sent).toEqual([
    ["POST /v2/sources", { ...item("s2"), id: undefined, externalId: "s2" }],
    [
      "POST /v2/destinations",
      { name: "Nd1", type: "Kafka", ...byRudderServer, config: { topic: "t" }, externalId: "d1" },
    ],
    [
      "POST /v2/destinations",
      {
        ...{ name: "Nd2", type: "OTHER", ...byRudderServer },
        ...{ config: { password: "kept" }, externalId: "d2" },
      },
    ],
    [
      "POST /v2/connections",
      { sourceId: "S1", destinationId: "D1", enabled: true, externalId: "c1" },
    ],
  ]);
  expect(lines).toEqual([
    "source Ns1: here already",
    "source Ns2: copied",
    "destination Nd1: copied",
    "pixelmill: destination Nd2: too many",
    "connection s1 → d1: copied",
    "pixelmill: connection s2 → d2: Its source or destination was not copied",
    "connection gone → d1: here already",
    "pixelmill: connection gone → d2: Its source or destination was not copied",
  ]);
  expect([run.copied, run.hasFailed]).toEqual([3, true]);
});

test("a dry run writes nothing, and counts what an import would copy", async () => {
  const { client, run, sent, lines } = openRun(listed, true);
  await importResources(client, run, resources);
  expect(sent).toEqual([]);
  expect(lines.filter((line) => line.endsWith(": new"))).toHaveLength(6);
  expect(lines.filter((line) => line.endsWith(": here already"))).toHaveLength(2);
  expect([run.copied, run.hasFailed]).toEqual([6, false]);
});

test("an error that is no refusal ends the import", async () => {
  const { client, run } = openRun(listed);
  await expect(importResources(client, run, resources)).rejects.toThrow("No answer to POST");
  expect([run.copied, run.hasFailed]).toEqual([0, false]);
});

test("code that is not published for failed tests is named, as are its reasons", async () => {
  const version = (versionId: string) => ({
    ...{ versionId, name: "T", description: "", code: versionId, language: "javascript" },
  });
  let publication: unknown = { published: true };
  let made = 0;
  const { client, run, sent, lines } = openRun({
    "GET /libraries": () => ({ libraries: [] }),
    "GET /transformations": () => ({ transformations: [] }),
    "POST /transformations": () => ({ id: "T", versionId: `here-${++made}` }),
    "POST /transformations/{id}": () => ({ id: "T", versionId: `here-${++made}` }),
    "POST /transformations/publish": () => publication,
  });
  const it = { id: "t", versionId: "v2", destinations: [] };
  const transformations = [{ ...it, versions: [version("v1"), version("v2")] }];
  await importCode(client, run, { libraries: [], transformations });
  expect(sent.map(([route]) => route)).toEqual([
    "POST /transformations",
    "POST /transformations/{id}",
    "POST /transformations/publish",
  ]);
  expect(sent[0]?.[1]).toMatchObject({ code: "v1", externalId: "t" });
  expect(sent[2]?.[1]).toEqual({ libraries: [], transformations: ["here-2"] });
  expect([lines, run.hasFailed]).toEqual([["transformation T: copied"], false]);
  publication = {
    published: false,
    validationOutput: {
      libraries: [{ name: "L", pass: true, message: "fine" }],
      transformations: [
        { name: "T", pass: false },
        { name: "U", pass: false, message: "throws" },
      ],
    },
  };
  await importCode(client, run, { libraries: [], transformations });
  expect(lines.slice(2)).toEqual([
    "pixelmill: publishing T: A test failed",
    "pixelmill: publishing U: throws",
  ]);
  expect(run.hasFailed).toBe(true);
});
