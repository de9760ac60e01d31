import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MemoryLog } from "../store/memory-log.ts";
import { startApi, type TestApi } from "./_setup.ts";

describe("APIs of three nodes", () => {
  const log = new MemoryLog({ delayMs: () => Math.random() * 5 });
  let nodes: [TestApi, TestApi, TestApi];
  beforeAll(async () => {
    nodes = await Promise.all([startApi({}, log), startApi({}, log), startApi({}, log)]);
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));

  /** The same workspace on each node, whichever made it. */
  const asked = (node: TestApi, method: string, path: string, body?: unknown) =>
    node.send(method, path, { token: nodes[0].token, ...(body !== undefined && { body }) });

  test("answer with what any of them has answered before", async () => {
    const [a, b, c] = nodes;
    for (let round = 0; round < 20; round++) {
      const name = `S ${round}`;
      const made = (await asked(a, "POST", "/v2/sources", { name })).body.source;
      expect((await asked(b, "GET", `/v2/sources/${made.id}`)).body.source.name).toBe(name);
      await asked(c, "DELETE", `/v2/sources/${made.id}`);
      expect((await asked(a, "GET", `/v2/sources/${made.id}`)).status).toBe(404);
    }
  });

  test("know a token once it is made, and no longer once it is revoked", async () => {
    const [a, b, c] = nodes;
    for (let round = 0; round < 10; round++) {
      const wanted = { name: "T", permissions: ["workspace:admin"] };
      const { status, body } = await asked(a, "POST", "/v2/tokens", wanted);
      const { id, secret } = body.token;
      expect(status).toBe(201);
      const listed = () => b.send("GET", "/v2/sources", { token: secret });
      expect((await listed()).status).toBe(200);
      await asked(c, "DELETE", `/v2/tokens/${id}`);
      expect((await listed()).status).toBe(401);
    }
  });

  test("give an import name to one of two that publish it at once", async () => {
    const library = { name: "Same", code: "export const a = 1", language: "javascript" };
    const answers = await Promise.all(
      nodes.map((node) => asked(node, "POST", "/libraries?publish=true", library)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });

  test("answer 503 while nobody knows what the others changed, but for how they are", async () => {
    log.away = true;
    expect((await asked(nodes[1], "GET", "/v2/sources")).status).toBe(503);
    expect((await asked(nodes[1], "POST", "/v2/sources", { name: "S" })).status).toBe(503);
    expect((await nodes[1].send("GET", "/health")).status).toBe(200);
    log.away = false;
    expect((await asked(nodes[1], "GET", "/v2/sources")).status).toBe(200);
  });
});
