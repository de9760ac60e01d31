import type { Route } from "../../src/api/route.ts";
import { routes } from "../../src/api/route-table.ts";
import { ids } from "../../src/api/schema/examples.ts";
import type { Received, Sent, TestApi } from "./_setup.ts";

/** Requests made of the documentation's examples, with ids of things that exist. */

/** Ids by the names that the examples give them; a name that is left out keeps its example. */
export type Things = Partial<Record<keyof typeof ids, string>>;

export interface Request {
  method: string;
  path: string;
  body?: string;
}

export function exampleOf(route: Route, things: Things, path = route.path): Request {
  const real = (text: string) =>
    Object.entries(things).reduce(
      (now, [name, id]) => now.replaceAll(ids[name as keyof typeof ids], id),
      text,
    );
  const params: Record<string, string> = route.example.params ?? {};
  const { query } = route.example;
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => real(params[name] ?? ""));
  return {
    method: route.method,
    path: query === undefined ? filled : `${filled}?${real(query)}`,
    ...(route.body && { body: real(JSON.stringify(route.example.body)) }),
  };
}

/** Routes that accept only what an OpenID provider has signed. */
export const ofProvider = new Set(["POST /v2/session/oidc/logout"]);

export async function sendExample(
  api: TestApi,
  request: Request,
  sent: Sent = {},
): Promise<Received> {
  const { method, path, body } = request;
  if (path !== "/v2/events") {
    return api.send(method, path, { ...sent, ...(body !== undefined && { body }) });
  }
  // The tail does not end by itself: its head is enough, unless it is refused.
  const stop = new AbortController();
  const token = sent.token === undefined ? api.token : sent.token;
  const response = await fetch(api.url + path, {
    headers: token === null ? {} : { Authorization: `Bearer ${token}` },
    signal: stop.signal,
  });
  const { status, headers } = response;
  const text = status === 200 ? "" : await response.text();
  stop.abort();
  return { status, headers, text, body: text && JSON.parse(text) };
}

/** A webhook's receiver that takes nothing: what is sent there becomes a dead letter. */
const refusing = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response(null, { status: 400 }),
});
refusing.unref();

/** One of each thing that the examples name, in the workspace of the token. */
export async function makeThings(api: TestApi, token = api.token): Promise<Required<Things>> {
  const things: Things = {};
  const send = async (method: string, path: string, body: unknown) =>
    (await api.send(method, path, { body, token })).body;
  const make = async (key: string, query = "") => {
    const { method, path, body } = exampleOf(routes.find((it) => it.key === key)!, things);
    return send(method, path + query, body);
  };
  const library = await make("POST /libraries", "?publish=true");
  const transformation = await make("POST /transformations", "?publish=true");
  things.library = library.id;
  things.libraryVersion = library.versionId;
  things.transformation = transformation.id;
  things.transformationVersion = transformation.versionId;
  const cases = `/v2/transformations/${transformation.id}/test-cases`;
  const testCase = { name: "A title", input: [{ properties: { title: "a" } }] };
  things.testCase = (await send("POST", cases, testCase)).testCase.id;
  for (const name of ["source", "destination", "member", "token", "credential"] as const) {
    things[name] = (await make(`POST /v2/${name}s`))[name].id;
  }
  things.alertReceiver = (await make("POST /v2/alerts/receivers")).receiver.id;
  await send("PUT", `/v2/alerts/receivers/${things.alertReceiver}`, { url: refusing.url.href });
  things.alertRule = (await make("POST /v2/alerts/rules")).rule.id;
  const { source: sourceId, destination: destinationId } = things;
  await send("PUT", `/v2/destinations/${destinationId}`, {
    config: { webhookUrl: refusing.url.href },
  });
  things.connection = (
    await send("POST", "/v2/connections", { sourceId, destinationId })
  ).connection.id;
  await api.page(sourceId!, "anonymousId=a");
  const letters = async () => (await api.send("GET", "/v2/dead-letters", { token })).body;
  let found = await letters();
  for (; !found.deadLetters[0]; found = await letters()) await Bun.sleep(10);
  things.deadLetter = found.deadLetters[0].id;
  things.deadLetterGroup = found.deadLetters[0].groupId;
  const from = new Date(Date.now() - 3_600_000).toISOString();
  things.replay = (
    await send("POST", "/v2/replays", { destinationId, from, filter: { type: "track" } })
  ).replay.id;
  const replay = async () =>
    (await api.send("GET", `/v2/replays/${things.replay}`, { token })).body;
  while ((await replay()).replay.state === "running") await Bun.sleep(10);
  const path = `/v2/destinations/${destinationId}/transformation`;
  await send("PUT", path, { transformationId: things.transformation });
  // For the example that connects a source: the first one is connected already.
  things.source = (await send("POST", "/v2/sources", { name: "Second" })).source.id;
  things.otherSource = (await send("POST", "/v2/sources", { name: "Third" })).source.id;
  things.secret = api.token;
  const { workspace } = (await api.send("GET", "/v2/workspace", { token })).body;
  return { ...things, workspace: workspace.id } as Required<Things>;
}

const methods = ["GET", "PUT", "POST", "DELETE"];
/** Deleted last: what they take along, or what hangs on them, has a route of its own. */
const last = [
  "DELETE /transformations/{id}",
  "DELETE /libraries/{id}",
  "DELETE /v2/sources/{id}",
  "DELETE /v2/destinations/{id}",
];

/** Every route, in an order in which all of them succeed. */
export const inOrder = routes.toSorted(
  (a, b) =>
    methods.indexOf(a.method) - methods.indexOf(b.method) ||
    last.indexOf(a.key) - last.indexOf(b.key),
);
