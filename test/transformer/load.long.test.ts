import { expect, test } from "bun:test";
import { removeDirectory, type Server, startServer, temporaryDirectory } from "../e2e/server.ts";
import { freePort } from "../free-ports.ts";

const SENDERS = 20;
/** Requests in all; or as many as fit in the minutes of this variable, for a run by hand. */
const MINUTES = Number(process.env.TRANSFORMER_LOAD_MINUTES ?? 0);
const REQUESTS = MINUTES > 0 ? Number.POSITIVE_INFINITY : 120;
const ENDS_AT = MINUTES > 0 ? Date.now() + MINUTES * 60_000 : Number.POSITIVE_INFINITY;
/** In a run of minutes, a request of this many has an event that never ends. */
const LOOPS_EVERY = 400;
const EVENTS = 200;
/** Answered requests after which the code is deleted, and after which the server restarts. */
const DELETED_AT = 30;
const RESTARTED_AT = 60;

const code = `export function transformEvent(event) {
  while (event.loops);
  return { ...event, seen: true };
}`;

interface Item {
  statusCode: number;
  error?: string;
  output?: { messageId: string; seen: boolean };
  metadata: { messageId: string };
}

test("each event of a busy rudder-server is answered, whatever happens to code and server", async () => {
  const directory = temporaryDirectory();
  const port = await freePort();
  const start = () => startServer({ directory, flags: ["--transformer-port", String(port)] });
  let server: Server = await start();
  const { workspace } = (await server.api("GET", "/v2/workspace")).body;
  const input = { name: "Busy", code, language: "javascript" };
  const { body } = await server.api("POST", "/transformations?publish=true", input);

  const requestOf = (request: number, loops: boolean) =>
    JSON.stringify(
      Array.from({ length: EVENTS }, (_, n) => ({
        message: {
          messageId: `${request}-${n}`,
          note: "x".repeat(800),
          ...(loops && n === 100 && { loops: true }),
        },
        metadata: { workspaceId: workspace.id, messageId: `${request}-${n}`, jobId: n },
        destination: { Transformations: [{ VersionID: body.versionId }] },
      })),
    );

  let again = 0;
  /**
   * Sends a request as rudder-server does: again after lost connections, and when it is asked to.
   */
  async function send(text: string): Promise<Item[]> {
    for (;;) {
      const headers = { "content-type": "application/json", "x-feature-filter-code": "?1" };
      const url = `http://127.0.0.1:${port}/customTransform`;
      const answer = await fetch(url, { method: "POST", headers, body: text }).catch(
        () => undefined,
      );
      if (answer?.status === 200) {
        expect(answer.headers.get("apiversion")).toBe("2");
        const items = await answer.json().catch(() => undefined);
        if (items !== undefined) return items as Item[];
      } else if (answer !== undefined) {
        expect(answer.status).toBe(503);
        expect(answer.headers.get("x-rudder-should-retry")).toBe("true");
      }
      again += 1;
      await Bun.sleep(50);
    }
  }

  let next = 0;
  let answered = 0;
  let restarted = false;
  let changes: Promise<unknown> = Promise.resolve();
  const restart = async () => {
    await server.stop();
    server = await start();
  };
  async function sender(): Promise<void> {
    const goesOn = (request: number) => request < REQUESTS && Date.now() < ENDS_AT;
    for (let request = next++; goesOn(request); request = next++) {
      const loops = request % LOOPS_EVERY === 0;
      const items = await send(requestOf(request, loops));
      const ids = Array.from({ length: EVENTS }, (_, n) => `${request}-${n}`);
      expect(items.map((it) => it.metadata.messageId)).toEqual(ids);
      const failed = items.filter((it) => it.statusCode !== 200);
      expect(failed.map((it) => [it.metadata.messageId, it.statusCode, it.error])).toEqual(
        loops ? [[`${request}-100`, 400, "Script execution timed out."]] : [],
      );
      answered += 1;
      if (answered === DELETED_AT) {
        changes = server.api("DELETE", `/transformations/${body.id}`);
      }
      const isHalf = MINUTES > 0 && !restarted && Date.now() > ENDS_AT - MINUTES * 30_000;
      if (!restarted && (isHalf || (MINUTES === 0 && answered === RESTARTED_AT))) {
        restarted = true;
        changes = changes.then(restart);
      }
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, sender));
  await changes;
  if (MINUTES === 0) expect(answered).toBe(REQUESTS);
  else process.stdout.write(`${JSON.stringify({ answered, events: answered * EVENTS, again })}\n`);
  // The server was away in the middle.
  expect(again).toBeGreaterThan(0);
  expect(await server.stop()).toBe(0);
  removeDirectory(directory);
}, 1_200_000);
