import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AsyncLocalStorage } from "node:async_hooks";
import { handleRequest, type ListenerContext } from "../../../src/api/request/handle.ts";
import { routes } from "../../../src/api/route-table.ts";
import { permissions } from "../../../src/catalog/model.ts";
import type { OrderedLog } from "../../../src/store/ordered/ordered-log.ts";
import { OrderedStore } from "../../../src/store/ordered/ordered-store.ts";
import { MemoryLog } from "../../store/memory-log.ts";
import { exampleOf, inOrder, makeThings, sendExample } from "../_examples.ts";
import { startApi, type TestApi } from "../_setup.ts";

test.each([
  ["waits for the catalog and all ledgers when it reads letters", "GET /v2/dead-letters", "both"],
  ["waits for the catalog alone when it reads sources", "GET /v2/sources", "catalog"],
  ["waits for the catalog alone when it answers figures", "GET /v2/overview", "catalog"],
  ["waits for nothing when it needs no token", "GET /health", "nothing"],
] as const)("a request %s", async (_, key, expected) => {
  const route = routes.find((it) => it.key === key)!;
  const asked: string[] = [];
  const current = (name: string) => ({ current: async () => void asked.push(name) });
  const stores = { catalog: current("catalog"), pipeline: current("ledgers") };
  const deps = { ...stores, starting: () => undefined, answerMsMax: 60_000 };
  const closing = new AbortController().signal;
  const listener = { deps, closing, lateness: { recentMs: () => 0 } } as unknown as ListenerContext;
  const request = new Request("http://127.0.0.1/");
  // The other parts that answer a request are missing, so it fails after these waits.
  await handleRequest(route, listener, { request, server: null }).catch(() => {});
  const all = asked.length > 1 ? "both" : (asked[0] ?? "nothing");
  expect(all).toBe(expected);
});

/**
 * Reads that a handler made before its first change ended and outside of it, and the number of its
 * changes.
 */
interface Handled {
  reads: string[];
  changes: number;
  hasChanged: boolean;
}

test("each route that is judged in its change makes one, and reads nothing before it", async () => {
  const handlers = new AsyncLocalStorage<Handled>();
  const { table, change } = OrderedStore.prototype;
  let isInChange = false;
  OrderedStore.prototype.table = function <V>(this: OrderedStore, name: string) {
    const opened = Object.entries(table.call(this, name));
    const noted = opened.map(([method, call]) => [
      method,
      (...sent: unknown[]) => {
        const handled = handlers.getStore();
        if (handled?.hasChanged === false && !isInChange) handled.reads.push(`${method} ${name}`);
        return (call as (...sent: unknown[]) => V)(...sent);
      },
    ]);
    return Object.fromEntries(noted);
  };
  OrderedStore.prototype.change = async function (apply, options) {
    const handled = handlers.getStore();
    if (handled) handled.changes += 1;
    const noted = () => {
      isInChange = true;
      try {
        return apply();
      } finally {
        isInChange = false;
      }
    };
    try {
      return (await change.call(this, noted, options)) as never;
    } finally {
      if (handled) handled.hasChanged = true;
    }
  };
  const api = await startApi({}, { order: new MemoryLog({ delayMs: () => 0 }) });
  try {
    const things = await makeThings(api);
    const { conditionally } = api.catalog;
    let handled: Handled;
    api.catalog.conditionally = (check, run) =>
      conditionally(check, () => handlers.run(handled, run));
    const judged = inOrder.filter(({ readsInChange }) => readsInChange);
    const found = [];
    for (const route of judged) {
      handled = { reads: [], changes: 0, hasChanged: false };
      const { status } = await sendExample(api, exampleOf(route, things));
      found.push([route.key, status, handled.changes, handled.reads]);
    }
    expect(found).toEqual(judged.map(({ key, status }) => [key, status, 1, []]));
  } finally {
    Object.assign(OrderedStore.prototype, { table, change });
    await api.stop();
  }
});

/** A node's access to a log. While it lags, the node reads no entry until it appends one. */
class LaggingLog implements OrderedLog {
  readonly #log: MemoryLog;
  #caughtUp = Promise.withResolvers<void>();
  /** Entries that this node appended since it began to lag: barriers and change sets. */
  appended: ("barrier" | "set")[] = [];

  constructor(log: MemoryLog) {
    this.#log = log;
    this.#caughtUp.resolve();
  }

  lag(): void {
    this.appended = [];
    this.#caughtUp = Promise.withResolvers();
  }

  async append(entry: Uint8Array): Promise<number> {
    this.appended.push(entry.length === 0 ? "barrier" : "set");
    const position = await this.#log.append(entry);
    this.#caughtUp.resolve();
    return position;
  }

  knownEnd = () => this.#log.knownEnd();
  trim = (position: number) => this.#log.trim(position);
  trouble = () => this.#log.trouble();
  follow: OrderedLog["follow"] = (position, take) =>
    this.#log.follow(position, async (entries) => {
      await this.#caughtUp.promise;
      await take(entries);
    });
}

describe("a change that a node makes on a view that lacks another node's changes", () => {
  let one: TestApi;
  let other: TestApi;
  let log: LaggingLog;

  beforeAll(async () => {
    const shared = new MemoryLog({ delayMs: () => 0 });
    one = await startApi({}, { order: shared });
    log = new LaggingLog(shared);
    other = await startApi({}, { order: log });
  });
  afterAll(async () => {
    await other.stop();
    await one.stop();
  });

  /** Lets the node lag, changes something at the other node, and sends a request to the node. */
  async function send(
    before: () => Promise<unknown>,
    method: string,
    path: string,
    sent: { body?: unknown; token?: string; headers?: Record<string, string> },
  ) {
    log.lag();
    await before();
    return await other.send(method, path, sent);
  }
  const sources = async () => {
    const { body } = await one.send("GET", "/v2/sources");
    return body.sources.map(({ name }: { name: string }) => name) as string[];
  };
  const create = async (name: string) =>
    (await one.send("POST", "/v2/sources", { body: { name } })).body.source;
  const admin = async () => {
    const body = { name: "admin", permissions: [...permissions] };
    const made = await one.send("POST", "/v2/tokens", { body });
    await other.catalog.current();
    return made.body.token as { id: string; secret: string };
  };

  test("appends its change set alone when the view is current", async () => {
    await other.catalog.current();
    const none = async () => {};
    const made = await send(none, "POST", "/v2/sources", { body: { name: "Alone" } });
    expect([made.status, log.appended]).toEqual([201, ["set"]]);
  });

  test("is made on the other's changes", async () => {
    const { id } = await create("First");
    await other.catalog.current();
    const rename = () => one.send("PUT", `/v2/sources/${id}`, { body: { name: "Renamed" } });
    const config = { a: 1 };
    const changed = await send(rename, "PUT", `/v2/sources/${id}`, { body: { config } });
    expect(changed.body.source).toMatchObject({ name: "Renamed", config });
    expect(log.appended).toEqual(["set", "set"]);
  });

  test("finds what the other has made", async () => {
    let id = "";
    const make = async () => {
      id = (await create("Made")).id;
    };
    log.lag();
    await make();
    const changed = await other.send("PUT", `/v2/sources/${id}`, { body: { enabled: false } });
    expect([changed.status, log.appended]).toEqual([200, ["barrier", "set"]]);
  });

  test("is refused with a token that the other has revoked, and changes nothing", async () => {
    const { id, secret: token } = await admin();
    const revoke = () => one.send("DELETE", `/v2/tokens/${id}`);
    const refused = await send(revoke, "POST", "/v2/sources", { body: { name: "No" }, token });
    expect(refused.status).toBe(401);
    expect(await sources()).not.toContain("No");
  });

  test("is refused with a token whose member the other has taken the permission from", async () => {
    const person = { name: "Eve", email: "eve@example.com", workspaceRole: "admin" };
    const { member } = (await one.send("POST", "/v2/members", { body: person })).body;
    const asked = { name: "Eve's", memberId: member.id };
    const { token } = (await one.send("POST", "/v2/tokens", { body: asked })).body;
    await other.catalog.current();
    const demote = () =>
      one.send("PUT", `/v2/members/${member.id}`, { body: { workspaceRole: "viewer" } });
    const { secret } = token;
    const sent = { body: { name: "No" }, token: secret };
    expect((await send(demote, "POST", "/v2/sources", sent)).status).toBe(403);
    expect(await sources()).not.toContain("No");
  });

  test("gives no token a permission that its creator has lost at the other", async () => {
    const person = { name: "Ada", email: "ada@example.com" };
    const allowed = ["workspace:admin", "events:replay"];
    const made = await one.send("POST", "/v2/members", {
      body: { ...person, permissions: allowed },
    });
    const { id } = made.body.member;
    const asked = { name: "Ada's", memberId: id };
    const { token } = (await one.send("POST", "/v2/tokens", { body: asked })).body;
    await other.catalog.current();
    const less = { permissions: ["workspace:admin"] };
    const reduce = () => one.send("PUT", `/v2/members/${id}`, { body: less });
    const body = { name: "more", permissions: ["events:replay"] };
    const answer = await send(reduce, "POST", "/v2/tokens", { body, token: token.secret });
    expect(answer.status).toBe(403);
  });

  test("is made with a token that the other has just made", async () => {
    let token = "";
    log.lag();
    const asked = { name: "new", permissions: [...permissions] };
    token = (await one.send("POST", "/v2/tokens", { body: asked })).body.token.secret;
    const made = await other.send("POST", "/v2/sources", { body: { name: "By new" }, token });
    expect(made.status).toBe(201);
  });

  test("is refused as any other with a revoked token when its body is invalid", async () => {
    const { id, secret: token } = await admin();
    const revoke = () => one.send("DELETE", `/v2/tokens/${id}`);
    const refused = await send(revoke, "POST", "/v2/sources", { body: { name: 1 }, token });
    expect(refused.status).toBe(401);
    const none = async () => {};
    expect((await send(none, "POST", "/v2/sources", { body: { name: 1 } })).status).toBe(400);
  });

  test("meets If-Match by the state that the other has made", async () => {
    const { id } = await create("Tagged");
    await other.catalog.current();
    let tag = "";
    const rename = async () => {
      const body = { name: "Newest" };
      tag = (await one.send("PUT", `/v2/sources/${id}`, { body })).headers.get("etag")!;
    };
    log.lag();
    await rename();
    const headers = { "If-Match": tag };
    const path = `/v2/sources/${id}`;
    const changed = await other.send("PUT", path, { body: { enabled: false }, headers });
    expect(changed.body.source).toMatchObject({ name: "Newest", enabled: false });
    log.lag();
    await one.send("PUT", path, { body: { name: "Newer" } });
    const { etag } = Object.fromEntries(changed.headers);
    const outdated = { "If-Match": etag! };
    expect((await other.send("DELETE", path, { headers: outdated })).status).toBe(412);
  });
});
