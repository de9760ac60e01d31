import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Glob } from "bun";
import { isValidElement, type VNode } from "preact";
import { permissions } from "../../../src/catalog/model.ts";
import { parseToShow } from "../../../src/json/parse-exact.ts";
import { PAGE_ITEMS_MAX } from "../../../src/settings/limits.ts";
import { renderHook, settled, startPage } from "./page.ts";

const page = startPage();
page.location.hash = "#/sources/a%20b/%zz?tab=snippet&x=1?2";
page.localStorage.setItem("pixelmill.theme", "dark");
const router = await import("../../../src/console/router.ts");
const theme = await import("../../../src/console/data/theme.ts");
/** Loads a module as for a new page: another file of this process may have loaded it before. */
const loadAnew = <Module>(path: string): Promise<Module> => import(`${path}?anew`);
const { currentRoute } = await loadAnew<typeof router>("../../../src/console/router.ts");
const firstRoute = currentRoute.value;
const { theme: loadedTheme } = await loadAnew<typeof theme>("../../../src/console/data/theme.ts");
const firstTheme = [loadedTheme.value, page.document.documentElement.dataset.theme];
const { session } = await import("../../../src/console/data/session.ts");
const { screens } = await import("../../../src/console/screens.ts");
const palette = await import("../../../src/console/shell/keyboard.tsx");
const search = await import("../../../src/console/search/search-form.ts");
const audit = await import("../../../src/console/audit/audit-form.ts");
const { eventName } = await import("../../../src/console/data/event-name.ts");
const { changesOf } = await import("../../../src/console/tail/event-changes.ts");
const { sortKeys } = await import("../../../src/console/testing/run-results.tsx");
const { useTail } = await import("../../../src/console/tail/use-tail.ts");
const { ConfirmationHost, confirmAction } = await import(
  "../../../src/console/components/dialog.tsx"
);
const { Time } = await import("../../../src/console/components/time.tsx");
const { Pagination } = await import("../../../src/console/components/table.tsx");
const { DeadLetterList } = await import("../../../src/console/dead-letters/letter-list.tsx");
const { deadLetterTexts } = await import("../../../src/console/texts/dead-letters.ts");
const { DeadLetterPage } = await import("../../../src/console/dead-letters/letter-page.tsx");
const { EventFilterPanel } = await import(
  "../../../src/console/destinations/filter/event-filter.tsx"
);
const { replayTexts } = await import("../../../src/console/texts/replays.ts");
const { useSettingsTest } = await import("../../../src/console/destinations/connection-test.tsx");
const toasts = await import("../../../src/console/components/toasts.ts");
const { useItemForm } = await import("../../../src/console/components/forms/use-save.tsx");
const { useSubmit } = await import("../../../src/console/components/forms/use-submit.ts");
const { useFields } = await import("../../../src/console/components/forms/use-fields.ts");
const { useFormat } = await import("../../../src/console/code/editing/use-format.ts");

const signIn = (...granted: string[]) => {
  session.value = { workspace: { id: "w" }, permissions: granted } as never;
};
beforeEach(() => {
  jest.useFakeTimers();
  page.asked.length = 0;
  signIn("events:read");
});
afterEach(() => {
  jest.useRealTimers();
});

describe("the address of a screen", () => {
  test("has decoded segments and a query, also where a segment is malformed", () => {
    expect(firstRoute.segments).toEqual(["sources", "a b", "%zz"]);
    expect([...firstRoute.query]).toEqual([
      ["tab", "snippet"],
      ["x", "1"],
    ]);
    page.location.hash = "";
    page.dispatchEvent(new Event("hashchange"));
    expect(router.currentRoute.value.segments).toEqual([]);
  });

  test("is built of segments and of the parameters that have a value", () => {
    const query = { tab: "a b", none: undefined, empty: "", number: 0 };
    expect(router.hrefTo("sources", "a/b", query)).toBe("#/sources/a%2Fb?tab=a+b&number=0");
    expect(router.hrefTo("sources", {})).toBe("#/sources");
    router.navigate("#/x?a=1&b=2");
    page.dispatchEvent(new Event("hashchange"));
    router.replaceQuery({ b: "", c: 3 });
    expect(page.location.hash).toBe("#/x?a=1&c=3");
    expect(router.currentRoute.value.query.get("c")).toBe("3");
  });
});

describe("the theme", () => {
  const kept = () => page.localStorage.getItem("pixelmill.theme");
  test("is kept in the browser, and follows another tab", () => {
    expect(firstTheme).toEqual(["dark", "dark"]);
    theme.chooseTheme("light");
    expect([kept(), page.document.documentElement.dataset.theme]).toEqual(["light", "light"]);
    page.localStorage.setItem("pixelmill.theme", "dark");
    page.dispatchEvent(new Event("storage"));
    expect(theme.theme.value).toBe("dark");
    theme.chooseTheme("system");
    expect(kept()).toBeNull();
    page.localStorage.setItem("pixelmill.theme", "blue");
    page.dispatchEvent(new Event("storage"));
    expect(theme.theme.value).toBe("system");
  });
});

test("a browser without local storage keeps a theme until the page is loaded again", () => {
  const { getItem, setItem, removeItem } = page.localStorage;
  const refuse = () => {
    throw new DOMException("Disabled", "SecurityError");
  };
  Object.assign(page.localStorage, { getItem: refuse, setItem: refuse, removeItem: refuse });
  try {
    for (const name of ["dark", "system", "light"] as const) {
      theme.chooseTheme(name);
      expect(theme.theme.value).toBe(name);
    }
    page.dispatchEvent(new Event("storage"));
    expect(theme.theme.value).toBe("system");
  } finally {
    Object.assign(page.localStorage, { getItem, setItem, removeItem });
  }
});

describe("the screens", () => {
  test("have a name, a title and an icon of their own, and known permissions", () => {
    for (const key of ["name", "title", "icon"] as const) {
      expect(new Set(screens.map((it) => it[key])).size).toBe(screens.length);
      expect(screens.filter((it) => it[key] === "").length).toBe(key === "name" ? 1 : 0);
    }
    const needs = screens.flatMap(({ needs = [] }) => needs);
    expect(needs.filter((it) => !permissions.includes(it))).toEqual([]);
  });

  test("with events, dead letters, the audit log or the system need a permission", () => {
    const free = screens.filter(({ needs }) => needs === undefined).map(({ name }) => name);
    expect(free).toEqual(["", "transformations", "libraries", "settings"]);
  });
});

describe("the palette", () => {
  const titles = (text: string) => palette.searchPalette(text).map(({ title }) => title);

  test("finds screens by all words of their title and kind, those that begin with one first", () => {
    expect(titles(" LIVE  screen ")).toEqual(["Live tail"]);
    expect(titles("live other")).toEqual([]);
    expect(titles("s").indexOf("Settings")).toBeLessThan(titles("s").indexOf("Live tail"));
    expect(titles("")).toHaveLength(screens.length);
    expect(palette.searchPalette("audit")[0]).toMatchObject({ href: "#/audit", kind: "Screen" });
  });

  test("offers actions to those who may do them", () => {
    expect(titles("action")).toEqual([]);
    signIn("workspace:admin");
    expect(palette.searchPalette("action").map(({ href, icon }) => [href, icon])).toEqual([
      ["#/sources/new", "plus"],
      ["#/destinations/new", "plus"],
    ]);
  });

  test("offers what the server has found for the latest text", async () => {
    page.answer = ({ query, route }) => {
      if (query.kind === "source") return Response.json({}, { status: 403 });
      const list = [{ id: `${query.kind}1`, name: `Zebra ${query.text}` }];
      return route === "GET /v2/code" ? { code: list } : { names: list };
    };
    const late = palette.searchServer("first");
    await palette.searchServer(" zeb ");
    await late;
    const found = palette.searchPalette("zebra");
    expect(found.map(({ href, title, kind, icon }) => [href, title, kind, icon])).toEqual([
      ["#/transformations/transformation1", "Zebra zeb", "Transformation", "code"],
      ["#/libraries/library1", "Zebra zeb", "Library", "library"],
      ["#/destinations/destination1", "Zebra zeb", "Destination", "destination"],
    ]);
    expect(page.asked.at(-1)?.query).toEqual({ text: "zeb", count: "40", kind: "destination" });
    page.answer = ({ route }) => {
      const list = Array.from({ length: 40 }, (_, at) => ({ id: `${at}`, name: "Zebra" }));
      return route === "GET /v2/code" ? { code: list } : { names: list };
    };
    await palette.searchServer("");
    expect(palette.searchPalette("zebra")).toHaveLength(40);
    expect(palette.searchPalette("zebra source")[0]?.href).toBe("#/sources/0");
    // The server also finds an item by its whole id.
    expect(palette.searchPalette(" 39 ").map(({ href }) => href)).toContain("#/sources/39");
  });

  test("forgets with the session what it has found", async () => {
    signIn("workspace:admin");
    page.answer = ({ route }) => {
      const list = [{ id: "z", name: "Zebra" }];
      return route === "GET /v2/code" ? { code: list } : { names: list };
    };
    await palette.searchServer("");
    expect(titles("zebra")).not.toEqual([]);
    session.value = null;
    expect(titles("zebra")).toEqual([]);
    signIn("workspace:admin");
    const late = palette.searchServer("");
    session.value = null;
    await late;
    expect(titles("zebra")).toEqual([]);
  });
});

test("a confirmation ends with the session in which it was asked for", () => {
  signIn("workspace:admin");
  const onConfirm = async () => {};
  confirmAction({ title: "Delete?", text: "", action: "Delete", onConfirm });
  expect(ConfirmationHost()).not.toBeNull();
  session.value = null;
  expect(ConfirmationHost()).toBeNull();
});

describe("the search form", () => {
  const form = (values: Record<string, string>) =>
    search.readSearchForm(new URLSearchParams(values));
  const local = new Date(2026, 1, 16, 21, 30);
  const time = "2026-02-16T21:30";

  test("asks by its field, and for what it filters", () => {
    expect(search.searchQuery(form({}))).toEqual({});
    expect(form({ by: "none" }).by).toBe("userId");
    const values = {
      by: "event",
      text: " Order ",
      sourceId: "s",
      outcome: "in-flight",
      from: time,
    };
    expect(search.searchQuery(form({ ...values, to: "x" }))).toEqual({
      ...{ event: "Order", sourceId: "s", outcome: "in-flight", from: local.toISOString() },
    } as never);
    expect(search.searchQuery(form({ outcome: "refused", to: time }))).toEqual({
      ...{ refused: true, to: local.toISOString() },
    });
    expect(search.searchQuery(form({ outcome: "toString" }))).toEqual({});
  });

  test("offers each outcome, with all and refused", () => {
    const values = search.outcomeOptions.map(({ value }) => value);
    expect([values[0], values.at(-1)]).toEqual(["", "refused"]);
    expect(values).toContain("in-flight");
    expect(search.searchFields.map(({ value }) => value)).toEqual([
      ...(["userId", "anonymousId", "messageId", "event", "property", "text"] as const),
    ]);
  });

  test("leads to a replay only with conditions that replays have", () => {
    const href = (values: Record<string, string>) => search.replayHref(form(values));
    expect(href({ by: "event", text: " A ", sourceId: "s", from: time })).toBe(
      "#/replays/new?sourceId=s&from=2026-02-16T21%3A30&event=A",
    );
    expect(href({ outcome: "in-flight" })).toBeUndefined();
    for (const by of ["anonymousId", "messageId"]) {
      expect(href({ by, text: "x" })).toBeUndefined();
      expect(href({ by, text: " " })).toBe("#/replays/new");
    }
    expect(href({ by: "property", text: "a=1" })).toBe("#/replays/new?property=a%3D1");
  });

  test("finds pages of events", async () => {
    page.answer = () => ({ events: [{ id: 1 }], cursor: "c" });
    const shown = renderHook(() => search.useSearch(form({ text: "u" })));
    await settled();
    await shown.current.loadOlder();
    expect(page.asked.map(({ route, query }) => [route, query])).toEqual([
      ["GET /v2/events/search", { userId: "u" }],
      ["GET /v2/events/search", { userId: "u", cursor: "c" }],
    ]);
    await shown.close();
  });
});

describe("the form of the audit log", () => {
  test("asks for entries of what it filters, fifty at a time", async () => {
    const form = audit.readAuditForm(
      new URLSearchParams({ action: "source", actor: " me ", resource: " ", from: "x" }),
    );
    expect(audit.auditQuery(form)).toEqual({ action: "source", actor: "me" });
    page.answer = () => ({ entries: [{ id: 1 }] });
    const shown = renderHook(() => audit.useAudit(form));
    await settled();
    expect(page.asked[0]?.query).toEqual({ action: "source", actor: "me", count: "50" });
    expect(shown.current.items).toHaveLength(1);
    await shown.close();
  });

  test("offers the names of resources and their actions alone", () => {
    expect(audit.auditActions.filter((it) => !/^[a-z-]+(\.[a-z-]+)?$/.test(it))).toEqual([]);
    expect(new Set(audit.auditActions).size).toBe(audit.auditActions.length);
  });

  test("offers each type of resource that the log records", () => {
    const code = readFileSync("src/catalog/audit/recorded-tables.ts", "utf8");
    const types = [...code.matchAll(/\bitem\("([a-z-]+)"/g)].map(([, type]) => type);
    expect(types.length).toBeGreaterThan(9);
    expect(audit.auditActions).toEqual(expect.arrayContaining(types));
  });
});

describe("the name of an event", () => {
  test.each([
    [{ event: "Bought", name: "Page", type: "track" }, "Bought"],
    [{ event: "", name: "Page", type: "page" }, "Page"],
    [{ event: 7, type: "identify" }, "identify"],
    [{ event: "x".repeat(201) }, "x".repeat(200)],
    [{}, "An event"],
    [null, "An event"],
    ["text", "An event"],
  ])("of %j is %s", (event, name) => {
    expect(eventName(event)).toBe(name);
  });
});

describe("the changes of an event", () => {
  const changes = (received: unknown, event: unknown) => {
    const { lines, removed } = changesOf(received, event);
    const shown = JSON.stringify(event, null, 2)?.split("\n") ?? [""];
    return { lines: [...lines].map((line) => shown[line]?.trim()), removed };
  };
  test.each([
    [{ a: 1, b: 2 }, { a: 1, b: 2 }, [], []],
    [{ a: 1, b: 2 }, { a: 3, b: 2 }, ['"a": 3,'], []],
    [{ a: { b: 1, c: 2 }, d: 1 }, { a: { b: 1 }, d: 2 }, ['"d": 2'], ["a.c"]],
    [{ a: {} }, { a: {}, b: [1, { c: 2 }] }, ['"b": [', "1,", "{", '"c": 2', "}", "]"], []],
    [{ a: [1, 2], b: 1 }, { a: [1, 3], b: 2 }, ["3", '"b": 2'], []],
    [{ a: [1], b: 1 }, { a: { 0: 1 }, b: 2 }, ['"a": {', '"0": 1', "},", '"b": 2'], []],
    [{ a: { x: 1 }, b: 1 }, { a: {}, b: 2 }, ['"b": 2'], ["a.x"]],
    [{ a: null }, { a: {} }, ['"a": {}'], []],
    [{ a: { x: 1 }, b: 1 }, { a: 5, b: 1 }, ['"a": 5,'], []],
    [7, 8, ["8"], []],
    [undefined, undefined, [], []],
  ])("from %j to %j are its new lines and missing fields", (received, event, lines, removed) => {
    expect(changes(received, event)).toEqual({ lines, removed });
  });
});

describe("an integer that a number cannot represent", () => {
  const parse = (text: string) => parseToShow(text) as Record<string, unknown>;
  const json = '{"b":[12345678901234567890],"a":{"id":12345678901234567891,"n":1},"c":1}';

  test("takes one line among the changes of an event, and is compared by all its digits", () => {
    const { lines, removed } = changesOf(
      parse(json),
      parse(json.replace("890]", "899]").replace('"c":1', '"c":2')),
    );
    expect([[...lines], removed]).toEqual([[2, 8], []]);
    expect([...changesOf({ a: 1 }, parse('{"a":12345678901234567890}')).lines]).toEqual([1]);
  });

  test("stays as it is where keys are sorted", () => {
    expect(JSON.stringify(sortKeys(parse(json)))).toBe(
      '{"a":{"id":12345678901234567891,"n":1},"b":[12345678901234567890],"c":1}',
    );
  });
});

describe("the live tail", () => {
  /** Streams that are open, each with the end by which the test sends. */
  const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  const received = (id: string) => ({
    ...{ name: "received", messageId: id, sourceId: "s", at: "2026-02-16T01:11:00.000Z" },
    event: { type: "track" },
  });
  const send = ({ name, ...data }: { name: string; [key: string]: unknown }) => {
    const text = `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    streams.at(-1)!.enqueue(Buffer.from(text));
  };
  let recent: unknown = { events: [] };
  beforeEach(() => {
    streams.length = 0;
    recent = { events: [] };
    page.document.hidden = false;
    page.answer = ({ route }) => {
      if (route === "GET /v2/events/recent") return recent;
      return new Response(new ReadableStream({ start: (it) => void streams.push(it) }));
    };
  });
  async function after(ms: number): Promise<void> {
    await settled();
    jest.advanceTimersByTime(ms);
    await settled();
  }

  test("begins with recent events, and adds new ones four times a second", async () => {
    recent = {
      events: [
        { messageId: "old", sourceId: "s", receivedAt: "2026-02-16T01:10:00.000Z", outcomes: [] },
      ],
    };
    const shown = renderHook(() => useTail({ sourceId: "s" }));
    expect(shown.current.state).toBe("connecting");
    await after(0);
    expect([shown.current.state, shown.current.tick]).toEqual(["open", 0]);
    await after(250);
    expect(shown.current.tick).toBe(1);
    expect(shown.current.buffer.size).toBe(1);
    for (const id of ["a", "b"]) send(received(id));
    send({ ...received("b"), name: "delivered", destinationId: "d" });
    await after(250);
    // Two events in a quarter of a second, smoothed.
    expect(shown.current.perSecond).toBeCloseTo(2.4, 1);
    send({ name: "missed", count: 7 });
    await after(250);
    expect([shown.current.missed, shown.current.perSecond]).toEqual([7, expect.closeTo(1.68, 1)]);
    await shown.close();
  });

  test("stands still while the page is hidden or nothing comes", async () => {
    const shown = renderHook(() => useTail({}));
    await after(250);
    expect(shown.current.tick).toBe(0);
    page.document.hidden = true;
    send(received("a"));
    await after(250);
    await after(250);
    expect(shown.current.tick).toBe(0);
    page.document.hidden = false;
    await after(250);
    // An event that came while the page was hidden does not wait for the next one.
    expect([shown.current.tick, shown.current.perSecond]).toEqual([1, expect.closeTo(0.4, 5)]);
    send(received("b"));
    await after(250);
    expect(shown.current.tick).toBe(2);
    for (let look = 0; look < 40; look++) await after(250);
    const idle = shown.current.tick;
    await after(250);
    expect(shown.current.tick).toBe(idle);
    expect(shown.current.perSecond).toBeLessThan(0.05);
    await shown.close();
  });

  test("counts the outcomes of a destination, whose tail has no received events", async () => {
    const shown = renderHook(() => useTail({ destinationId: "d" }));
    await after(0);
    send({ ...received("a"), name: "delivered", destinationId: "d" });
    await after(250);
    expect(shown.current.perSecond).toBeCloseTo(1.2, 1);
    await shown.close();
  });

  test("connects again after its end with what it has, and at once when the user asks", async () => {
    const shown = renderHook(() => useTail({}));
    await after(0);
    send(received("a"));
    await settled();
    streams[0]!.close();
    await after(0);
    expect([shown.current.state, shown.current.error]).toEqual(["ended", undefined]);
    for (let look = 0; look < 11; look++) await after(250);
    expect(streams).toHaveLength(1);
    await after(250);
    await after(0);
    expect([streams.length, shown.current.state]).toEqual([2, "open"]);
    expect(shown.current.buffer.size).toBe(1);
    streams[1]!.error(new TypeError("gone"));
    await after(0);
    expect((shown.current.error as Error).message).toBe("gone");
    shown.current.reconnect();
    await after(0);
    expect([streams.length, shown.current.state, shown.current.error]).toEqual([
      ...[3, "open", undefined],
    ]);
    await after(10_000);
    expect(streams).toHaveLength(3);
    await shown.close();
  });

  test("of another filter begins empty, and ends with its screen", async () => {
    const shown = renderHook(() => useTail({ sourceId: "a" }));
    await after(0);
    send(received("a"));
    await settled();
    expect(shown.current.buffer.size).toBe(1);
    shown.show(() => useTail({ sourceId: "b" }));
    await after(0);
    expect(shown.current.buffer.size).toBe(0);
    expect(page.asked.filter(({ route }) => route === "GET /v2/events")).toHaveLength(2);
    // The end of the stream of the earlier filter is not that of the tail.
    streams[0]!.close();
    await after(3_000);
    expect([shown.current.state, streams.length]).toEqual(["open", 2]);
    await shown.close();
    streams.at(-1)!.close();
    await after(60_000);
    expect(streams).toHaveLength(2);
  });

  test("shows new events where the recent ones cannot be read", async () => {
    recent = Response.json({}, { status: 500 });
    const shown = renderHook(() => useTail({}));
    await after(0);
    send(received("a"));
    await after(250);
    expect(shown.current.tick).toBe(1);
    await shown.close();
  });
});

describe("messages", () => {
  test("are the latest four, a text for five seconds, an error until it is dismissed", () => {
    toasts.toasts.value = [];
    toasts.showError("e");
    for (const text of ["1", "2", "3"]) toasts.showToast(text);
    expect(toasts.toasts.value).toHaveLength(4);
    toasts.showToast("4");
    expect(toasts.toasts.value.map(({ text }) => text)).toEqual(["1", "2", "3", "4"]);
    toasts.showError("f");
    jest.advanceTimersByTime(4_999);
    expect(toasts.toasts.value).toHaveLength(4);
    jest.advanceTimersByTime(1);
    expect(toasts.toasts.value).toEqual([{ error: "f" }]);
    toasts.dismissToast(toasts.toasts.value[0]!);
    expect(toasts.toasts.value).toEqual([]);
  });

  test("keep a text when another screen opens, and drop an error", () => {
    toasts.showError("e");
    toasts.showToast("done");
    page.dispatchEvent(new Event("hashchange"));
    expect(toasts.toasts.value).toEqual([{ text: "done" }]);
  });
});

describe("a form", () => {
  const event = () => {
    let prevented = 0;
    return { preventDefault: () => prevented++, prevented: () => prevented } as never as Event & {
      prevented(): number;
    };
  };

  test("is sent once at a time, and keeps its error until the next time", async () => {
    let sent = 0;
    let pending = Promise.withResolvers<void>();
    const send = async () => {
      sent++;
      await pending.promise;
    };
    const shown = renderHook(() => useSubmit(send));
    const submitted = event();
    void shown.current.submit(submitted);
    await settled();
    expect([submitted.prevented(), shown.current.busy]).toEqual([1, true]);
    void shown.current.submit(event());
    pending.reject("no");
    await settled();
    expect([sent, shown.current.busy, shown.current.error]).toEqual([1, false, "no"]);
    pending = Promise.withResolvers();
    void shown.current.submit(event());
    await settled();
    expect(shown.current.error).toBeUndefined();
    pending.reject("again");
    await settled();
    shown.current.clearError();
    await settled();
    expect(shown.current.error).toBeUndefined();
    await shown.close();
  });

  test("has fields whose values change by their controls", async () => {
    const shown = renderHook(() => useFields({ name: "a", on: false, kind: "x" }));
    shown.current.input("name").onInput("b");
    shown.current.checkbox("on").onChange(true);
    shown.current.select("kind").onChange("y");
    await settled();
    expect(shown.current.values).toEqual({ name: "b", on: true, kind: "y" });
    expect(shown.current.input("name").value).toBe("b");
    expect(shown.current.checkbox("on").on).toBe(true);
    expect(shown.current.select("kind").value).toBe("y");
    await shown.close();
  });

  test("of a stored item forgets what was typed once it is saved", async () => {
    const sent: unknown[] = [];
    let reloads = 0;
    const item = {
      ...{ name: "source 1", savedText: "Saved", base: { a: 1 }, tag: "t" },
      send: async (values: object, tag?: string) => {
        sent.push([values, tag]);
        return { tag: "u" };
      },
      reload: async () => void reloads++,
      valuesOf: (it: never) => it,
      labelOf: String,
    };
    const shown = renderHook(() => useItemForm(item));
    shown.current.edit({ a: 2 });
    await settled();
    await shown.current.submit();
    await settled();
    expect([sent, reloads]).toEqual([[[{ a: 2 }, "t"]], 1]);
    expect([shown.current.isEdited, toasts.toasts.value.at(-1)]).toEqual([
      ...[false, { text: "Saved" }],
    ]);
    await shown.close();
  });
});

describe("the formatting of code", () => {
  test("replaces the text, or shows the line of its syntax error", async () => {
    jest.useRealTimers();
    const texts: string[] = [];
    const lines: number[] = [];
    const open = (text: string) => () =>
      useFormat(
        "javascript" as never,
        text,
        (it) => texts.push(it),
        (it) => lines.push(it),
      );
    const shown = renderHook(open("a  =  1"));
    await shown.current.format!();
    await settled();
    expect([texts, shown.current.formatErrors]).toEqual([["a = 1;\n"], []]);
    shown.show(open("a\n= ="));
    await shown.current.format!();
    await settled();
    expect([lines, shown.current.formatErrors.length]).toEqual([[2], 1]);
    expect(texts).toHaveLength(1);
    shown.current.setText("b");
    await settled();
    expect([texts.at(-1), shown.current.formatErrors]).toEqual(["b", []]);
    await shown.close();
    const python = renderHook(() =>
      useFormat(
        "pythonfaas" as never,
        "",
        () => {},
        () => {},
      ),
    );
    expect(python.current.format).toBeUndefined();
    await python.close();
  });
});

describe("the texts of the console", () => {
  test("are never empty", async () => {
    const empty: string[] = [];
    const look = (value: unknown, place: string) => {
      if (value === "") empty.push(place);
      if (typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) look(inner, `${place}.${key}`);
    };
    for (const path of new Glob("src/console/texts/*.ts").scanSync(".")) {
      look(await import(`../../../${path}`), path);
    }
    expect(empty).toEqual([]);
  });
});

test("the result of a test of settings is not shown for settings that were changed meanwhile", async () => {
  const answer = Promise.withResolvers<unknown>();
  page.answer = () => answer.promise;
  const open = (url: string) => () => useSettingsTest({ type: "webhook", config: { url } });
  const shown = renderHook(open("a"));
  const tested = shown.current.trial.run();
  await settled();
  shown.show(open("b"));
  await settled();
  answer.resolve({ ok: true, steps: [] });
  await tested;
  await settled();
  expect(shown.current.result).toBeFalsy();
  shown.show(open("a"));
  expect(shown.current.result).toBeTruthy();
  await shown.close();
});

/** Returns the elements that a component rendered, without what other components make of them. */
function elementsOf(node: unknown): VNode<any>[] {
  if (Array.isArray(node)) return node.flatMap(elementsOf);
  if (!isValidElement(node)) return [];
  const element = node as VNode<any>;
  return [element, ...elementsOf(element.props.children)];
}

test("the dead letters of a selected page join those that other pages have selected", async () => {
  page.answer = ({ route, query }) => {
    if (route !== "GET /v2/dead-letters") return { deadLetterGroups: [], names: [] };
    const [id, next] = query.after === undefined ? ["a", "a"] : ["b"];
    return { deadLetters: [{ id, destinationId: "d" }], paging: { total: 2, next }, asOf: "t" };
  };
  const shown = renderHook(() => DeadLetterList({ filter: {} }));
  await settled();
  const find = (props: object) =>
    elementsOf(shown.current).find((it) =>
      Object.entries(props).every(([k, v]) => it.props[k] === v),
    )!;
  const selectPage = async () => {
    find({ children: deadLetterTexts.selectPage }).props.onClick();
    await settled();
  };
  await selectPage();
  find({ isFirst: true }).props.onNext();
  await settled();
  await selectPage();
  const { target } = elementsOf(shown.current).find((it) => "target" in it.props)!.props;
  expect(target.selection).toEqual({ ids: ["a", "b"] });
  find({ children: deadLetterTexts.clearSelection }).props.onClick();
  await settled();
  expect(find({ description: deadLetterTexts.all(2) })).toBeDefined();
  await shown.close();
});

test("an action on a dead letter that is gone fails, and the screen stays open", async () => {
  page.location.hash = "#/dead-letters/l";
  toasts.toasts.value = [];
  let count = 0;
  page.answer = ({ route }) =>
    route.startsWith("POST")
      ? { [route.endsWith("replay") ? "replayed" : "purged"]: count }
      : { deadLetter: { id: "l", stage: "transform", event: {} } };
  const list = { all: undefined, destinationId: undefined, groupId: undefined };
  const shown = renderHook(() => DeadLetterPage({ id: "l", list }));
  await settled();
  const actions = elementsOf(shown.current).find((it) => "letter" in it.props)!;
  const open = renderHook(() => (actions.type as (props: object) => unknown)(actions.props));
  const elements = elementsOf(open.current);
  const replay = elements.find((it) => it.props.children === deadLetterTexts.replay)!;
  const purge = elements.find((it) => "onConfirm" in it.props)!;
  for (const act of [replay.props.onClick, purge.props.onConfirm]) {
    expect((await act().catch((it: unknown) => it))?.message).toBe(deadLetterTexts.gone);
  }
  expect([toasts.toasts.value, page.location.hash]).toEqual([[], "#/dead-letters/l"]);
  count = 1;
  await replay.props.onClick();
  expect(toasts.toasts.value).toEqual([{ text: deadLetterTexts.eventRequeued }]);
  expect(page.location.hash).toBe("#/dead-letters");
  await open.close();
  await shown.close();
});

describe("the form of an event filter", () => {
  const stored = {
    mode: "only",
    conditions: [
      { path: "event", values: [" Bought ", "", "Left"] },
      { path: " plan", values: ["a"] },
    ],
  };
  /** Opens the form of the stored filter. `change` changes its conditions. */
  function openForm(id: string, filter: object = stored) {
    const props = { destination: { id, filter } as never, tag: "t", reload: async () => {} };
    const shown = renderHook(() => EventFilterPanel(props));
    const elements = () => elementsOf(shown.current);
    return {
      async change(at: number, condition: object): Promise<void> {
        elements()
          .filter((it) => "condition" in it.props)
          [at]!.props.onChange(condition);
        await settled();
      },
      async save(): Promise<void> {
        await elements()
          .find((it) => "onSubmit" in it.props)!
          .props.onSubmit();
        await settled();
      },
      close: () => shown.close(),
    };
  }
  const sentFilters = () =>
    page.asked.filter(({ route }) => route.startsWith("PUT")).map(({ body }) => body.filter);
  beforeEach(() => {
    page.answer = () => ({});
  });

  test("sends stored paths and values as they are, and others without spaces around them", async () => {
    const form = openForm("kept");
    await form.save();
    await form.change(1, { path: " properties.plan ", values: [" b ", "", " ", "Left"] });
    await form.change(0, { path: "event", values: [" Bought ", "", "Left ", " c", "  "] });
    await form.save();
    expect(sentFilters()).toEqual([
      stored,
      {
        mode: "only",
        conditions: [
          { path: "event", values: [" Bought ", "", "Left", "c"] },
          { path: "properties.plan", values: ["b", "Left"] },
        ],
      },
    ]);
    await form.close();
  });

  test("sends what another user has stored as it is once the user chooses it", async () => {
    const theirs = { mode: "except", conditions: [{ path: "event", values: [" theirs "] }] };
    page.answer = ({ headers }) =>
      headers.get("If-Match") === "t"
        ? Response.json(
            { message: "changed", current: { destination: { id: "taken", filter: theirs } } },
            { status: 412, headers: { ETag: "u" } },
          )
        : {};
    const props = {
      ...{ destination: { id: "taken", filter: stored } as never, tag: "t" },
      reload: async () => {},
    };
    const shown = renderHook(() => EventFilterPanel(props));
    const form = () => elementsOf(shown.current).find((it) => "onSubmit" in it.props)!.props;
    const conditions = elementsOf(shown.current).filter((it) => "condition" in it.props);
    conditions[0]!.props.onChange({ path: "event", values: [" mine "] });
    await settled();
    await form().onSubmit();
    await settled();
    form().conflict.onChoose("filter", true);
    await settled();
    await form().onSubmit();
    await settled();
    const [mine, chosen] = sentFilters();
    expect([mine.conditions[0].values, chosen]).toEqual([["mine"], theirs]);
    await shown.close();
  });
});

test("a replay does not call events sent that were dropped, failed or only requeued", () => {
  const { processed } = replayTexts;
  expect([processed.events(2), processed["dead-letters"](1), processed.purge(3)]).toEqual([
    ...["2 events processed", "1 dead letter requeued", "3 dead letters deleted"],
  ]);
});

describe("the pages of a list", () => {
  test("are two once it has more items than the API lists at once", async () => {
    const pages = async (total: number) => {
      const shown = renderHook(() => Pagination({ page: 1, total, onChange: () => {} }));
      await shown.close();
      return shown.current;
    };
    expect(await pages(PAGE_ITEMS_MAX)).toBeNull();
    expect(await pages(PAGE_ITEMS_MAX + 1)).not.toBeNull();
  });

  test("go back to the last one that the list still has", async () => {
    const opened: number[] = [];
    const open = (total: number | undefined) => () =>
      Pagination({ page: 3, pageItems: 50, total, onChange: (page) => opened.push(page) });
    const shown = renderHook(open(undefined));
    await settled();
    for (const total of [101, 100, 0]) {
      shown.show(open(total));
      await settled();
    }
    expect(opened).toEqual([2, 1]);
    await shown.close();
  });
});

test("an exact time has milliseconds, on other days with the date", () => {
  const shown = (at: Date) => Time({ at: at.toISOString(), exact: true }).props.children;
  const [today, earlier] = [new Date(), new Date(2020, 4, 6)];
  for (const day of [today, earlier]) day.setHours(7, 8, 9, 123);
  expect(shown(today)).toMatch(/^\S*07.08.09.123$/);
  expect(shown(earlier)).toMatch(/2020.*07.08.09.123$/);
});
