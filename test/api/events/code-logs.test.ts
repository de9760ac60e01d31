import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import type { StatusDeps } from "../../../src/api/routes/status/local-status.ts";
import { answerLocally, latestCodeLogs } from "../../../src/api/routes/status/node-status.ts";
import type { CodeLogFilter, CodeLogLine } from "../../../src/pipeline/monitoring/code-logs.ts";
import { CODE_LOG_LINES_PER_SECOND_MAX } from "../../../src/settings/limits.ts";
import { PATIENCE_MS } from "../../sandbox/support.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

let api: TestApi;
let sourceId: string;
const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
beforeAll(async () => {
  api = await startApi();
  sourceId = (await api.send("POST", "/v2/sources", { body: { name: "S" } })).body.source.id;
});
afterAll(async () => {
  await api.stop();
  await receiver.stop(true);
});

const events = [{ type: "page", name: "Test" }];

/** Publishes code for a new destination of the source. */
async function deploy(language: string, code: string) {
  const config = { webhookUrl: receiver.url.href };
  const destination = { name: "D", type: "webhook", config };
  const { body } = await api.send("POST", "/v2/destinations", { body: destination });
  const destinationId: string = body.destination.id;
  await api.send("POST", "/v2/connections", { body: { sourceId, destinationId } });
  const transformation = { name: "T", language, code, events, destinationIds: [destinationId] };
  const path = "/transformations?publish=true";
  const published = await api.send("POST", path, { body: transformation });
  expect([published.status, published.body.message]).toEqual([200, undefined]);
  const { id, versionId } = published.body;
  return { destinationId, id, versionId };
}

const lines = async (query: string) => (await api.send("GET", `/v2/logs?${query}`)).body.lines;

test.each([
  [
    "javascript",
    "export function transformEvent(event) {\n  log('saw', event.name); return event;\n}",
  ],
  [
    "pythonfaas",
    "def transformEvent(event, metadata):\n  log('saw', event['name'])\n  return event",
  ],
])(
  "a line of live %s code has its event, revision, destination, time and place",
  async (language, code) => {
    const { destinationId, id, versionId } = await deploy(language, code);
    // Lines of the publish tests are not lines of live code.
    expect(await lines(`transformationId=${id}`)).toEqual([]);
    await api.page(sourceId, "anonymousId=a&name=Home");
    const query = `transformationId=${id}&text=HOME`;
    while ((await lines(query)).length === 0) await Bun.sleep(20);
    const [line] = await lines(query);
    expect(line).toMatchObject({
      text: "Log: saw Home",
      line: 2,
      transformationId: id,
      transformationVersionId: versionId,
      revision: 1,
      destinationId,
    });
    expect(line.messageId).toMatch(/^[0-9a-f-]{36}$/);
    expect(Math.abs(Date.parse(line.at) - Date.now())).toBeLessThan(600_000);
    expect(await lines(`${query}&after=${line.id}`)).toEqual([]);
    expect(await lines(`${query}&messageId=${line.messageId}`)).toEqual([line]);
    expect(api.log()).not.toContain("saw Home");
  },
);

test("a line has the number of its revision among those of its transformation", async () => {
  const codeOf = (text: string) =>
    `export function transformEvent(event) { log("${text}"); return event; }`;
  const { id } = await deploy("javascript", codeOf("old"));
  const found = (text: string) => lines(`transformationId=${id}&text=${text}`);
  await api.page(sourceId, "anonymousId=a&name=One");
  while ((await found("old")).length === 0) await Bun.sleep(20);
  // The second revision is a draft, which writes no lines.
  for (const [text, publish] of [
    ["draft", false],
    ["new", true],
  ]) {
    const body = { code: codeOf(String(text)), events };
    await api.send("POST", `/transformations/${id}?publish=${publish}`, { body });
  }
  await api.page(sourceId, "anonymousId=a&name=Two");
  while ((await found("new")).length === 0) await Bun.sleep(20);
  expect([(await found("old"))[0].revision, (await found("new"))[0].revision]).toEqual([1, 3]);
});

test("a guest sends no more lines of a batch than there is room for", async () => {
  const many = CODE_LOG_LINES_PER_SECOND_MAX * 20;
  const code = `export function transformEvent(event) {
    for (let n = 0; n < ${many}; n++) log(n);
    return event;
  }`;
  const { id } = await deploy("javascript", code);
  await api.page(sourceId, "anonymousId=a&name=Many");
  const found = () => lines(`transformationId=${id}&limit=500`);
  while ((await found()).length === 0) await Bun.sleep(20);
  expect(await found()).toHaveLength(CODE_LOG_LINES_PER_SECOND_MAX);
});

const line = (id: string) => ({ id, at: 0, text: id }) as CodeLogLine;

/** The dependencies of a node whose own lines are these. */
function node(own: string[], others?: object) {
  const asked: unknown[] = [];
  const deps = {
    pipeline: {
      codeLogs: (...question: [string, CodeLogFilter, number]) => {
        asked.push(question);
        return own.map(line);
      },
    },
    limiters: createLimiters(0),
    ...(others && { others }),
  } as never as StatusDeps;
  return { deps, asked };
}

test("any node answers the newest lines of all nodes, and names those that did not answer", async () => {
  const other = node(["4", "2"]);
  const questions: unknown[] = [];
  const { deps } = node(["3", "1"], {
    node: "one",
    async ask(question: unknown) {
      questions.push(question);
      return {
        answers: new Map([["two", answerLocally(other.deps, question)]]),
        missing: ["three"],
      };
    },
  });
  const found = await latestCodeLogs(deps, "w", { text: "x" }, 3);
  expect(found.lines.map(({ id }) => id)).toEqual(["4", "3", "2"]);
  expect(found.missingNodes).toEqual(["three"]);
  expect(other.asked).toEqual([["w", { text: "x" }, 3]]);
});
