import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { soon } from "../../until.ts";
import { type Asked, renderHook, settled, startPage } from "./page.ts";

const page = startPage();
const it = await import("../../../src/console/data/session.ts");
const { OutcomeUnknown, SessionEnded } = await import("../../../src/console/data/retry.ts");
const { useNames } = await import("../../../src/console/data/use-names.ts");
const { useNameSearch } = await import("../../../src/console/data/use-name-search.ts");
const { addSampleEvent, clearSampleEvents, sampleEvents } = await import(
  "../../../src/console/data/sample-events.ts"
);
const { recentSentEvents } = await import("../../../src/console/data/recent-events.ts");

const user = (id: string, permissions = ["events:read"]) =>
  ({ workspace: { id }, token: { id: "t" }, permissions }) as any;
const routes = () => page.asked.map(({ route }) => route);

beforeEach(() => {
  jest.useFakeTimers();
  page.asked.length = 0;
  page.location.hash = "";
  it.session.value = user("w");
  it.isExpired.value = false;
});
afterEach(() => {
  jest.useRealTimers();
  page.answer = () => ({});
});

describe("a session", () => {
  const later = "pixelmill.screen-after-sign-in";

  test("is restored from the cookie, with the screen that was left for the provider", async () => {
    it.session.value = undefined;
    page.location.hash = "#/search";
    it.rememberScreen();
    page.location.hash = "";
    page.answer = () => ({ session: user("w") });
    await it.restoreSession();
    expect(it.session.value).toEqual(user("w"));
    expect(page.location.hash).toBe("#/search");
    expect(page.sessionStorage.getItem(later)).toBeNull();
    page.location.hash = "#/other";
    it.rememberScreen();
    page.location.hash = "#/settings";
    await it.restoreSession();
    expect(page.location.hash).toBe("#/settings");
  });

  test("is null when the server refuses the cookie, and stays unknown after another failure", async () => {
    it.session.value = undefined;
    page.answer = () => Response.json({ message: "busy" }, { status: 503 });
    expect(await it.restoreSession().catch((error) => error.message)).toBe("busy");
    expect(it.session.value).toBeUndefined();
    page.answer = () => Response.json({ message: "no" }, { status: 401 });
    await it.restoreSession();
    expect(it.session.value).toBeNull();
    expect(it.isExpired.value).toBe(false);
  });

  test("that expires keeps its screen, whose reads wait for the next session of the workspace", async () => {
    page.answer = () => ({ session: user("w") });
    await it.signIn("pm_token");
    addSampleEvent({ a: 1 });
    page.answer = () => Response.json({ message: "no" }, { status: 401 });
    const read = it.client.call("GET /v2/workspace");
    await settled();
    expect([it.session.value, it.isExpired.value]).toEqual([user("w"), true]);
    // Whoever signs in next has not asked for the change.
    const change = it.client.call("DELETE /v2/sources/{id}", { params: { id: "s" } });
    expect(await change.catch((error) => error)).toBeInstanceOf(SessionEnded);
    const workspace = { id: "w" } as never;
    page.answer = ({ body }) => (body ? { session: user("w") } : { workspace });
    await it.signIn("pm_token");
    expect([it.session.value, it.isExpired.value]).toEqual([user("w"), false]);
    expect(await read).toEqual({ workspace });
    expect(sampleEvents.value).toEqual([{ a: 1 }]);
  });

  test("of another member or workspace begins with a new page, without sample events", async () => {
    addSampleEvent({ a: 1 });
    let reloads = 0;
    page.location.reload = () => void reloads++;
    for (const begun of [{ ...user("w"), member: { id: "m" } }, user("other")]) {
      page.answer = () => ({ session: begun });
      await it.signIn("pm_token");
      expect(it.session.value).toEqual(user("w"));
    }
    expect(reloads).toBe(2);
    it.session.value = undefined;
    await it.restoreSession();
    expect([it.session.value, sampleEvents.value]).toEqual([user("other"), []]);
    expect(page.sessionStorage.getItem("sample-events")).toBeNull();
  });

  test("that began later is not ended by a late refusal of the one before", async () => {
    page.answer = () => ({ session: user("w") });
    await it.signIn("pm_token");
    const late = Promise.withResolvers<Response>();
    page.answer = () => late.promise;
    const asked = it.client.call("GET /v2/workspace");
    page.answer = () => ({ session: user("w") });
    await it.signIn("pm_token");
    late.resolve(Response.json({ message: "no" }, { status: 401 }));
    await asked;
    expect([it.session.value, it.isExpired.value]).toEqual([user("w"), false]);
  });

  test("that had expired ends at a sign-out with all that the user has typed, too", async () => {
    let forgotten = 0;
    const forget = () => forgotten++;
    it.onSignOut.add(forget);
    page.answer = () => ({ session: user("w") });
    await it.signIn("pm_token");
    addSampleEvent({ a: 1 });
    page.answer = () => Response.json({ message: "no" }, { status: 503 });
    await it.signOut().catch(() => {});
    expect([forgotten, it.session.value]).toEqual([0, user("w")]);
    page.answer = () => Response.json({ message: "no" }, { status: 401 });
    await it.signOut();
    it.onSignOut.delete(forget);
    expect([forgotten, sampleEvents.value, it.session.value]).toEqual([1, [], null]);
    expect(it.isExpired.value).toBe(false);
  });

  test("ends at a sign-out with all that the user has typed", async () => {
    let forgotten = 0;
    const forget = () => forgotten++;
    it.onSignOut.add(forget);
    addSampleEvent({ a: 1 });
    it.isExpired.value = true;
    page.answer = () => new Response(null, { status: 204 });
    await it.signOut();
    it.onSignOut.delete(forget);
    expect(routes()).toEqual(["DELETE /v2/session"]);
    expect([it.session.value, it.isExpired.value, forgotten]).toEqual([null, false, 1]);
    expect(sampleEvents.value).toEqual([]);
  });

  test("lacks the first permission that it has not, and one of several only without any", () => {
    it.session.value = user("w", ["events:read", "audit:read"]);
    expect(it.missingPermission(undefined, "events:read")).toBeUndefined();
    expect(it.missingPermission("events:read", "workspace:admin")).toBe("workspace:admin");
    expect(it.missingOneOf(["workspace:admin", "events:read"])).toBeUndefined();
    expect(it.missingOneOf(["workspace:admin", "transformations:edit"])).toBe("workspace:admin");
    expect(it.missingOneOf()).toBeUndefined();
    it.session.value = null;
    expect(it.missingPermission("events:read")).toBe("events:read");
  });
});

describe("another tab of the console", () => {
  const tab = new BroadcastChannel("pixelmill.session");
  const heard: unknown[] = [];
  tab.onmessage = ({ data }) => heard.push(data);
  afterAll(() => tab.close());
  beforeEach(() => void jest.useRealTimers());

  test("hears of each sign-in and sign-out", async () => {
    page.answer = () => ({ session: { ...user("w"), member: { id: "m" } } });
    it.session.value = null;
    await it.signIn("pm_token");
    page.answer = () => new Response(null, { status: 204 });
    await it.signOut();
    await soon(async () => expect(heard.slice(-2)).toEqual([{ owner: "w m", tokenId: "t" }, null]));
  });

  test("renews an expired session by its sign-in, and ends each one by its sign-out", async () => {
    const renewed = { ...user("w"), token: { id: "t2" } };
    it.isExpired.value = true;
    page.answer = () => ({ session: renewed });
    tab.postMessage({ owner: "w", tokenId: "t" });
    await soon(async () =>
      expect([it.session.value, it.isExpired.value]).toEqual([renewed, false]),
    );
    page.asked.length = 0;
    // This tab knows the session already.
    tab.postMessage({ owner: "w", tokenId: "t2" });
    tab.postMessage({ owner: "w", tokenId: "t3" });
    await soon(async () => expect(routes()).toEqual(["GET /v2/session"]));
    tab.postMessage(null);
    await soon(async () => expect(it.session.value).toBeNull());
    expect(routes()).toEqual(["GET /v2/session"]);
    tab.postMessage({ owner: "other", tokenId: "t" });
    await soon(async () => expect(it.session.value).toEqual(renewed));
  });

  test("makes this one load its page again for another user", async () => {
    let reloads = 0;
    page.location.reload = () => void reloads++;
    tab.postMessage({ owner: "w m", tokenId: "t" });
    await soon(async () => expect(reloads).toBe(1));
    expect(it.session.value).toEqual(user("w"));
    expect(routes()).toEqual([]);
  });

  test("changes nothing while this one still loads its session", async () => {
    const witness = new BroadcastChannel("pixelmill.session");
    const heard = new Promise((resolve) => {
      witness.onmessage = resolve;
    });
    it.session.value = undefined;
    tab.postMessage(null);
    await heard;
    witness.close();
    await settled();
    expect([it.session.value, routes()]).toEqual([undefined, []]);
  });
});

describe("a request without an answer", () => {
  const broken = () => {
    throw new TypeError("Load failed");
  };
  const errorOf = (call: Promise<unknown>) => call.then(undefined, (error) => error);

  test("that changes something has an unknown outcome, and tells whether to repeat it", async () => {
    page.answer = broken;
    const params = { id: "s" };
    const created = await errorOf(it.client.call("POST /v2/sources", { body: {} as never }));
    expect(created).toBeInstanceOf(OutcomeUnknown);
    expect(created.isRepeatable).toBe(false);
    const deleted = await errorOf(it.client.call("DELETE /v2/sources/{id}", { params }));
    expect(deleted.isRepeatable).toBe(true);
    const body = { name: "T" } as never;
    const saved = await errorOf(
      it.client.call("POST /transformations/{id}", { params, body, ifMatch: '"1"' }),
    );
    expect(saved.isRepeatable).toBe(true);
  });

  test("that got no answer, or one of a broken server, is counted as failed", async () => {
    const failedBy = async (answer: () => unknown) => {
      const before = it.failedRequests.value;
      page.answer = answer;
      await it.client.call("GET /v2/workspace").catch(() => {});
      return it.failedRequests.value - before;
    };
    const status = (code: number) => () => Response.json({ message: "no" }, { status: code });
    const counts: number[] = [];
    for (const code of [200, 404, 499, 500, 503]) counts.push(await failedBy(status(code)));
    expect(counts).toEqual([0, 0, 0, 1, 1]);
    const noAnswer = () => {
      throw new TypeError("Failed to fetch");
    };
    const givenUp = () => {
      throw new DOMException("Given up", "AbortError");
    };
    expect([await failedBy(noAnswer), await failedBy(givenUp)]).toEqual([1, 0]);
  });

  test("that changes nothing is a failure alone", async () => {
    page.answer = broken;
    for (const call of [
      it.client.call("GET /v2/workspace"),
      it.client.call("POST /v2/session", { body: { token: "t" } }),
      it.client.call("POST /v2/run", { body: {} as never }),
    ]) {
      expect(await errorOf(call)).not.toBeInstanceOf(OutcomeUnknown);
    }
    page.answer = () => {
      throw new RangeError();
    };
    const other = await errorOf(it.client.call("POST /v2/sources", { body: {} as never }));
    expect(other).not.toBeInstanceOf(OutcomeUnknown);
  });
});

describe("a request that takes long", () => {
  const timeOut = async (call: Promise<unknown>, ms: number) => {
    let error: unknown;
    void call.catch((thrown) => {
      error = thrown;
    });
    await settled();
    jest.advanceTimersByTime(ms - 1);
    await settled();
    const early = error;
    jest.advanceTimersByTime(1);
    await settled();
    return [early, error instanceof TypeError];
  };
  beforeEach(() => {
    page.answer = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });

  test("fails after 20 seconds, or 3 minutes where it may run tests", async () => {
    expect(await timeOut(it.client.call("GET /v2/workspace"), 20_000)).toEqual([undefined, true]);
    const run = it.client.call("POST /v2/run", { body: {} as never });
    expect(await timeOut(run, 180_000)).toEqual([undefined, true]);
  });

  test("of a stream is bounded only until it begins", async () => {
    const stop = new AbortController();
    const first = it.client.follow({}, stop.signal).next();
    expect(await timeOut(first, 20_000)).toEqual([undefined, true]);
    const ended = it.client.follow({}, stop.signal).next();
    const error = ended.catch((thrown) => thrown);
    await settled();
    stop.abort("left");
    expect(await error).toBe("left");
  });
});

describe("names of sources and destinations", () => {
  const names = new Map([
    ["s1", "Site"],
    ["d1", "Hook"],
  ]);
  const answerNames = ({ query }: Asked) => {
    const ids = query.ids === undefined ? [] : query.ids.split(",");
    return { names: ids.flatMap((id) => (names.has(id) ? [{ id, name: names.get(id) }] : [])) };
  };
  const asked = () => page.asked.map(({ query }) => query);
  async function turn(ms = 1): Promise<void> {
    jest.advanceTimersByTime(ms);
    await settled();
  }

  test("are ids until they are loaded, in one request for each kind", async () => {
    it.session.value = user("names");
    page.answer = answerNames;
    const shown = renderHook(useNames);
    await settled();
    expect(asked()).toEqual([
      { count: "100", kind: "source" },
      { count: "100", kind: "destination" },
    ]);
    page.asked.length = 0;
    const look = () => ["s1", "s2", ""].map((id) => shown.current.source(id));
    expect(look()).toEqual(["s1", "s2", ""]);
    expect(shown.current.destination("d1")).toBe("d1");
    expect(look()).toEqual(["s1", "s2", ""]);
    await turn();
    expect(asked()).toEqual([
      { ids: "s1,s2", kind: "source" },
      { ids: "d1", kind: "destination" },
    ]);
    expect(look()).toEqual(["Site", "s2", ""]);
    expect(shown.current.destination("d1")).toBe("Hook");
    await turn();
    expect(asked()).toHaveLength(2);
    await shown.close();

    // Another screen soon after needs no request; one that is opened later asks again.
    page.asked.length = 0;
    await renderHook(useNames).close();
    expect(asked()).toEqual([]);
    await turn(30_001);
    names.set("s1", "Renamed");
    const again = renderHook(useNames);
    await settled();
    expect(again.current.source("s1")).toBe("Site");
    await turn();
    expect(again.current.source("s1")).toBe("Renamed");
    expect(asked()).toHaveLength(3);
    await again.close();

    // Names that came with the first ones are not requested for rows.
    await turn(30_001);
    page.answer = () => ({ names: [{ id: "s1", name: "First" }] });
    page.asked.length = 0;
    const third = renderHook(useNames);
    await settled();
    third.current.source("s1");
    await turn();
    expect(third.current.source("s1")).toBe("First");
    expect(asked()).toHaveLength(2);
    await third.close();
    names.set("s1", "Renamed");
  });

  test("of many ids are requested a hundred at a time", async () => {
    it.session.value = user("many");
    page.answer = answerNames;
    const shown = renderHook(useNames);
    await settled();
    page.asked.length = 0;
    for (let number = 0; number < 101; number++) shown.current.source(`x${number}`);
    await turn();
    expect(asked().map(({ ids }) => ids!.split(",").length)).toEqual([100, 1]);
    await shown.close();
  });

  test("whose request failed are requested again after 3 seconds", async () => {
    it.session.value = user("failing");
    const shown = renderHook(useNames);
    await settled();
    page.answer = () => Response.json({}, { status: 500 });
    page.asked.length = 0;
    shown.current.source("s1");
    await turn();
    expect(asked()).toHaveLength(1);
    page.answer = answerNames;
    shown.current.source("s1");
    await turn(2_999);
    expect(asked()).toHaveLength(1);
    await turn(2);
    shown.current.source("s1");
    await turn();
    expect(asked()).toHaveLength(2);
    expect(shown.current.source("s1")).toBe("Renamed");
    await shown.close();
  });

  test("are not requested without a permission to see them", async () => {
    it.session.value = user("weak", ["transformations:edit"]);
    const shown = renderHook(useNames);
    await settled();
    expect(shown.current.source("s1")).toBe("s1");
    await turn();
    expect(asked()).toEqual([]);
    await shown.close();
    it.session.value = user("admin", ["workspace:admin"]);
    const other = renderHook(useNames);
    await settled();
    other.current.source("s1");
    await turn();
    expect(asked()).toHaveLength(3);
    await other.close();
  });

  test("of one workspace are not those of another", async () => {
    it.session.value = user("names");
    const shown = renderHook(useNames);
    await settled();
    expect(shown.current.source("s1")).toBe("First");
    it.session.value = user("stranger");
    expect(shown.current.source("s1")).toBe("s1");
    await shown.close();
  });
});

describe("a search by name", () => {
  let total = 2;
  const answer = ({ query }: Asked) => {
    return { names: [{ id: `${query.text}${query.page}`, name: `N${query.page}` }], total };
  };
  const asked = () => page.asked.filter(({ query }) => query.page !== undefined);
  async function turn(ms: number): Promise<void> {
    jest.advanceTimersByTime(ms);
    await settled();
  }

  test("shows the first page at once, and further pages below it", async () => {
    page.answer = answer;
    const shown = renderHook(() => useNameSearch("source"));
    expect(shown.current).toMatchObject({ found: undefined, total: 0, all: undefined });
    await settled();
    await turn(0);
    await turn(1);
    expect(shown.current).toMatchObject({ found: [{ id: "1" }], total: 2, all: 2 });
    expect(shown.current.isCurrent).toBe(true);
    expect(asked()[0]?.query).toEqual({ text: "", page: "1", count: "50", kind: "source" });
    shown.current.loadMore();
    await settled();
    expect(shown.current.found?.map(({ id }) => id)).toEqual(["1", "2"]);
    expect(shown.current.nameOf("1")).toBe("N1");
    expect(shown.current.nameOf("unknown")).toBe("unknown");
    await shown.close();
  });

  test("loads each page once, however often the user asks for more", async () => {
    total = 3;
    page.answer = answer;
    const shown = renderHook(() => useNameSearch("source"));
    await settled();
    await turn(1);
    shown.current.loadMore();
    shown.current.loadMore();
    await settled();
    shown.current.loadMore();
    await settled();
    expect(shown.current.found?.map(({ id }) => id)).toEqual(["1", "2", "3"]);
    total = 2;
    await shown.close();
  });

  test("asks once the user pauses, and drops answers to earlier texts", async () => {
    page.answer = answer;
    const shown = renderHook(() => useNameSearch("transformation"));
    await settled();
    await turn(1);
    page.asked.length = 0;
    total = 1;
    shown.current.search("a");
    await settled();
    expect(shown.current.isCurrent).toBe(false);
    await turn(149);
    expect(asked()).toEqual([]);
    const late = Promise.withResolvers<unknown>();
    page.answer = () => late.promise;
    await turn(2);
    const kind = "transformation";
    expect(asked()[0]?.query).toEqual({ text: "a", page: "1", count: "50", kind });
    page.answer = answer;
    shown.current.search("ab");
    await settled();
    await turn(151);
    late.resolve({ names: [{ id: "late", name: "Late" }], total: 9 });
    await settled();
    expect(shown.current).toMatchObject({ found: [{ id: "ab1" }], total: 1, all: 2 });
    expect(shown.current.isCurrent).toBe(true);
    expect(shown.current.nameOf("late")).toBe("late");
    await shown.close();
  });

  test("of receivers has all of a workspace, and asks for no name of another", async () => {
    page.answer = ({ route }) =>
      route === "GET /v2/alerts/receivers"
        ? { receivers: [{ id: "r", name: "On call" }], paging: { total: 1 } }
        : { names: [], total: 0 };
    const shown = renderHook(() => useNameSearch("receiver"));
    await settled();
    await turn(1);
    expect(shown.current).toMatchObject({ found: [{ id: "r" }], total: 1, all: 1 });
    expect([shown.current.nameOf("r"), shown.current.nameOf("gone")]).toEqual(["On call", "gone"]);
    await shown.close();
  });

  test("is repeated after a failure that may pass", async () => {
    page.answer = () => Response.json({ message: "busy" }, { status: 503 });
    const shown = renderHook(() => useNameSearch("transformation"));
    await settled();
    await turn(1);
    expect((shown.current.error as Error).message).toBe("busy");
    page.answer = answer;
    await turn(3_000);
    expect(shown.current).toMatchObject({ found: [{ id: "1" }], error: undefined });
    await shown.close();
  });
});

describe("sample events", () => {
  const key = "sample-events";
  const stored = () => JSON.parse(page.sessionStorage.getItem(key) ?? "{}").events;
  beforeEach(() => clearSampleEvents());

  test("are the newest twenty, and none that is no object", () => {
    for (let number = 0; number < 21; number++) addSampleEvent({ number });
    for (const other of [null, "text", [1]]) addSampleEvent(other);
    expect(sampleEvents.value.map(({ number }) => number)).toEqual(
      Array.from({ length: 20 }, (_, index) => 20 - index),
    );
    expect(stored()).toEqual(sampleEvents.value);
    clearSampleEvents();
    expect([stored(), sampleEvents.value]).toEqual([undefined, []]);
  });

  test("have all digits of large integers after a reload of the tab", async () => {
    const json = '{"id":12345678901234567}';
    page.sessionStorage.setItem(key, `{"workspaceId":"w","events":[${json}]}`);
    const reloaded = "../../../src/console/data/sample-events.ts?reloaded";
    const { sampleEvents: read } = await import(reloaded);
    expect(JSON.stringify(read.value)).toBe(`[${json}]`);
  });

  test("are stored as far as there is room", () => {
    const large = { text: "x".repeat(1_000_000 - 2 - 1 - '{"text":""}'.length) };
    addSampleEvent({ old: 1 });
    addSampleEvent(large);
    expect(stored()).toEqual([large]);
    addSampleEvent({ text: `${large.text}x` });
    expect(stored()).toEqual([]);
    expect(sampleEvents.value).toHaveLength(3);
  });
});

describe("recent events", () => {
  test("are those that the server received, and none without the permission", async () => {
    page.answer = () => ({ events: [{ received: { a: 1 } }, {}] });
    expect(await recentSentEvents(7)).toEqual([{ a: 1 }]);
    expect(page.asked[0]?.query).toEqual({ limit: "7" });
    it.session.value = user("w", []);
    expect(await recentSentEvents(7)).toEqual([]);
  });
});
