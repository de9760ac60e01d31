import { describe, expect, test } from "bun:test";
import { defaultRule, firstRules } from "../../../src/alerts/rule-kinds.ts";
import { alertRoutes } from "../../../src/api/routes/alerts/alerts.ts";
import { alertReceiverRoutes } from "../../../src/api/routes/alerts/receivers.ts";
import { alertRuleRoutes } from "../../../src/api/routes/alerts/rules.ts";
import { ApiError } from "../../../src/errors.ts";

/** Requests about rules and receivers of alerts, over a catalog in memory. */

const stamps = { workspaceId: "w", createdAt: 1_000, updatedAt: 2_000 };
const shownStamps = {
  ...{ createdAt: "1970-01-01T00:00:01.000Z", updatedAt: "1970-01-01T00:00:02.000Z" },
};

interface Scene {
  /** The stored rule or receiver that an update changes. */
  before?: object;
  state?: object;
  hasMailServer?: boolean;
  /** Number of nodes of the cluster; none on a standalone server. */
  nodes?: number;
}

/** Sends a request to a route; returns its answer and what the catalog was told to store. */
async function send(key: string, body: object, more: Scene & { workspaceId?: string } = {}) {
  const { before, state = {}, hasMailServer = true, nodes, workspaceId = "w" } = more;
  const stored: unknown[][] = [];
  const table = {
    get: () => before,
    async create(...given: unknown[]) {
      stored.push(given);
      return { id: "r", ...stamps, ...(given[1] as object) };
    },
    async update(of: string, id: string, change: (before: object) => object) {
      const after = change({ ...before });
      stored.push([of, after]);
      return { id, ...stamps, ...after };
    },
    state: () => state,
  };
  const known = (ids: readonly string[]) => ids.filter((id) => id !== "gone").map((id) => ({ id }));
  const items = { withIds: (_: string, ids: readonly string[]) => known(ids) };
  const code = {
    withIds: (_: string, __: string, ids: readonly string[]) =>
      known(ids).map((revision) => ({ revision })),
  };
  const workspaces = { list: () => [{ id: "w" }] };
  const alerts = { rules: table, receivers: table };
  const deps = {
    catalog: { workspaces, alerts, code, sources: items, destinations: items },
    alerts: { hasMailServer: () => hasMailServer },
    ...(nodes !== undefined && { nodes: async () => ({ nodes: Array(nodes).fill({}) }) }),
  };
  const routes: readonly { key: string }[] = [...alertRuleRoutes, ...alertReceiverRoutes];
  const route = routes.find((it) => it.key === key) as unknown as { handle(call: object): any };
  const { answer } = await route.handle({ deps, workspaceId, params: { id: "r" }, body });
  return { answer, stored };
}

/** The faults with which a request is refused. */
async function faultsOf(key: string, body: object, more?: Parameters<typeof send>[2]) {
  const error = await send(key, body, more).catch((it: unknown) => it);
  if (error instanceof ApiError) return error.details!.map(({ path, message }) => [path, message]);
  throw new Error("Expected a refusal");
}

describe("a rule of alerts", () => {
  const [CREATE, CHANGE] = ["POST /v2/alerts/rules", "PUT /v2/alerts/rules/{id}"];
  const quietHours = { from: "22:00", to: "07:00", timeZone: "Europe/Berlin" };

  test("has the values of the request, and else those of its kind", async () => {
    const made = async (body: object) => (await send(CREATE, body)).stored;
    const lag = defaultRule("lag");
    expect(await made({ kind: "lag" })).toStrictEqual([["w", lag]]);
    const nothing = { threshold: null, forSeconds: null, clearSeconds: null, quietHours: null };
    expect(await made({ kind: "lag", ...nothing })).toStrictEqual([["w", lag]]);
    const own = { enabled: false, threshold: 7, forSeconds: 8, clearSeconds: 9, quietHours };
    const ids = { subjectIds: ["d"], receiverIds: ["r"] };
    expect(await made({ kind: "lag", name: " Late ", ...own, ...ids })).toStrictEqual([
      ["w", { kind: "lag", name: "Late", ...own, ...ids }],
    ]);
    const { answer } = await send(CREATE, { kind: "source-silent" });
    expect(answer.rule).toEqual({
      ...{ ...defaultRule("source-silent"), id: "r", subject: "source", ...shownStamps },
    });
  });

  test("keeps in a change what the request leaves out", async () => {
    const before = { ...defaultRule("lag"), name: "Late", threshold: 7, quietHours };
    const changed = async (body: object) => (await send(CHANGE, body, { before })).stored[0]![1];
    expect(await changed({})).toStrictEqual(before);
    expect(await changed({ name: " New ", enabled: false })).toStrictEqual({
      ...{ ...before, name: "New", enabled: false },
    });
    const { quietHours: _, ...loud } = before;
    expect(await changed({ quietHours: null })).toStrictEqual(loud);
    const { threshold, forSeconds, clearSeconds } = defaultRule("lag");
    const nulls = { threshold: null, forSeconds: null, clearSeconds: null };
    expect(await changed(nulls)).toStrictEqual({
      ...{ ...before, threshold: threshold!, forSeconds, clearSeconds },
    });
  });

  test("takes the least and the greatest threshold of its kind", async () => {
    for (const [kind, ...thresholds] of [
      ["lag", 1, 2_592_000],
      ["disk", 1, 99],
      ["nodes-missing", 2, 1_000],
    ] as const) {
      for (const threshold of thresholds) {
        const { stored } = await send(CREATE, { kind, threshold });
        expect(stored[0]![1]).toMatchObject({ kind, threshold });
      }
    }
  });

  const none = (kind: string) => `Expected none for the kind ${kind}, got one`;
  const range = (of: string) => `Expected ${of}, got another number`;
  test.each([
    [{ kind: "destination-down", threshold: 5 }, "/threshold", none("destination-down")],
    [{ kind: "lag", threshold: 0 }, "/threshold", range("1 to 2592000 seconds")],
    [{ kind: "lag", threshold: 2_592_001 }, "/threshold", range("1 to 2592000 seconds")],
    [{ kind: "disk", threshold: 100 }, "/threshold", range("1 to 99 percent free")],
    [{ kind: "nodes-missing", threshold: 1 }, "/threshold", range("2 to 1000 nodes")],
    [
      { kind: "disk", subjectIds: ["d"] },
      "/subjectIds",
      "Expected none for the kind disk, which is about the whole server, got some",
    ],
    [
      { kind: "lag", subjectIds: ["d", "gone"] },
      "/subjectIds/1",
      "Expected the id of a destination of this workspace, got another id",
    ],
    [
      { kind: "code-suspended", subjectIds: ["gone"] },
      "/subjectIds/0",
      "Expected the id of a transformation of this workspace, got another id",
    ],
    [
      { kind: "lag", quietHours: { ...quietHours, timeZone: "Europe/Nowhere" } },
      "/quietHours/timeZone",
      "Expected an IANA time zone such as Europe/Berlin, got another text",
    ],
    [
      { kind: "lag", quietHours: { ...quietHours, to: "22:00" } },
      "/quietHours/to",
      "Expected another time than the beginning, got the same",
    ],
  ])("as in %j is refused at %s", async (body, path, message) => {
    expect(await faultsOf(CREATE, body)).toEqual([[path, message]]);
    const { kind, ...change } = body;
    const before = defaultRule(kind as "lag");
    expect(await faultsOf(CHANGE, change, { before })).toEqual([[path, message]]);
  });

  test("may keep an item that is gone, and add none", async () => {
    const before = { ...defaultRule("lag"), subjectIds: ["gone"] };
    const subjectIds = ["gone", "d"];
    const { stored } = await send(CHANGE, { subjectIds }, { before });
    expect(stored[0]![1]).toMatchObject({ subjectIds });
  });

  test("about the server is the operator's alone", async () => {
    const message =
      "Expected a kind about the workspace, got one about the server, which only the first workspace has";
    const elsewhere = { workspaceId: "x" };
    for (const kind of ["server-not-ready", "server-warning", "nodes-missing", "disk"]) {
      expect(await faultsOf(CREATE, { kind }, elsewhere)).toEqual([["/kind", message]]);
      expect((await send(CREATE, { kind })).stored).toHaveLength(1);
    }
    expect((await send(CREATE, { kind: "lag" }, elsewhere)).stored[0]![0]).toBe("x");
  });
});

describe("a receiver of alerts", () => {
  const [CREATE, CHANGE] = ["POST /v2/alerts/receivers", "PUT /v2/alerts/receivers/{id}"];
  const url = "https://hooks.test/a";
  const settings = { url, routingKey: "key", authorization: "Bearer a", to: ["a@b.test"] };
  type Setting = keyof typeof settings;
  const needed: Record<string, [needs: Setting[], may: Setting[]]> = {
    slack: [["url"], []],
    pagerduty: [["routingKey"], ["url"]],
    webhook: [["url"], ["authorization"]],
    email: [["to"], []],
  };
  const pick = (keys: Setting[]) => Object.fromEntries(keys.map((key) => [key, settings[key]]));

  test.each(Object.entries(needed))(
    "of the type %s has the settings of the type",
    async (type, of) => {
      const [needs, may] = of;
      for (const keys of [needs, [...needs, ...may]]) {
        const { stored } = await send(CREATE, { name: " On call ", type, ...pick(keys) });
        const receiver = { name: "On call", type, enabled: true, ...pick(keys) };
        expect(stored[0]!.slice(0, 2)).toStrictEqual(["w", receiver]);
      }
      for (const key of Object.keys(settings) as Setting[]) {
        const others = needs.filter((it) => it !== key);
        const isNeeded = needs.includes(key);
        if (may.includes(key)) continue;
        const body = { name: "N", type, ...pick(isNeeded ? others : [...needs, key]) };
        const message = isNeeded
          ? `Expected a value for the type ${type}, got none`
          : `Expected none for the type ${type}, got one`;
        expect(await faultsOf(CREATE, body)).toEqual([[`/${key}`, message]]);
      }
    },
  );

  test("has a URL of HTTP, an authorization of one line, and mail only with a mail server", async () => {
    const hook = { name: "N", type: "webhook", url };
    const [[path]] = (await faultsOf(CREATE, { ...hook, url: "ftp://a/" })) as [[string]];
    expect(path).toBe("/url");
    for (const authorization of ["a\r\nb: c", "ä", "\u007f", "a\u0000"]) {
      expect(await faultsOf(CREATE, { ...hook, authorization })).toEqual([
        ["/authorization", "Expected printable ASCII characters only"],
      ]);
    }
    const { stored } = await send(CREATE, { ...hook, authorization: " \t~" });
    expect(stored[0]![1]).toMatchObject({ authorization: " \t~" });
    const mail = { name: "N", type: "email", to: settings.to };
    const refused = await faultsOf(CREATE, mail, { hasMailServer: false });
    expect(refused.map(([at]) => at)).toEqual(["/type"]);
  });

  test("of the type email is changed without a mail server, but neither enabled nor given addresses", async () => {
    const mail = { name: "N", type: "email", enabled: true, to: settings.to };
    const change = (body: object, before = mail) =>
      send(CHANGE, body, { before, hasMailServer: false }).then(
        ({ stored }) => (stored[0] as [string, typeof mail])[1],
        ({ details }) => details.map(({ path }: { path: string }) => path),
      );
    const to = ["b@b.test"];
    expect(await change({ enabled: false })).toEqual({ ...mail, enabled: false });
    expect(await change({ name: "M", enabled: true, to: mail.to })).toEqual({ ...mail, name: "M" });
    expect(await change({ enabled: false, to })).toEqual({ ...mail, enabled: false, to });
    expect(await change({ to })).toEqual(["/type"]);
    expect(await change({ enabled: true }, { ...mail, enabled: false })).toEqual(["/type"]);
  });

  test("is created with the first rules of its workspace, for the number of nodes", async () => {
    const rulesOf = async (more: Parameters<typeof send>[2]) =>
      (await send(CREATE, { name: "N", type: "slack", url }, more)).stored[0]![2];
    expect(await rulesOf({})).toEqual(firstRules(true, 1));
    expect(await rulesOf({ nodes: 3 })).toEqual(firstRules(true, 3));
    expect(await rulesOf({ workspaceId: "x" })).toEqual(firstRules(false, 1));
  });

  test("is answered with its host and the names of its secrets, and with its last result", async () => {
    const answerOf = async (receiver: object, state = {}) =>
      (
        await send(
          "GET /v2/alerts/receivers/{id}",
          {},
          { before: { ...stamps, ...receiver }, state },
        )
      ).answer.receiver;
    const hook = { id: "r", name: "N", type: "webhook", enabled: true };
    const state = { sentAt: 1_000, failingSince: 2_000, reason: "HTTP 500" };
    const secrets = { url, authorization: "a" };
    expect(await answerOf({ ...hook, ...secrets }, state)).toStrictEqual({
      ...{ ...hook, host: "hooks.test", ...shownStamps, reason: "HTTP 500" },
      ...{ sentAt: shownStamps.createdAt, failingSince: shownStamps.updatedAt },
      secretsSet: ["/url", "/authorization"],
    });
    const { host, secretsSet } = await answerOf({ ...hook, type: "pagerduty", routingKey: "k" });
    expect([host, secretsSet]).toEqual(["events.pagerduty.com", ["/routingKey"]]);
    const mail = await answerOf({ ...hook, type: "email", to: ["a@b.test"] });
    expect(mail).toMatchObject({ to: ["a@b.test"], secretsSet: [] });
    expect(mail).not.toHaveProperty("host");
  });

  test("has the same tag whatever became of its notifications", async () => {
    const before = { ...stamps, id: "r", name: "N", type: "slack", enabled: true, url };
    const route: any = alertReceiverRoutes.find((it) => it.key === "GET /v2/alerts/receivers/{id}");
    const tagOf = (state: object, more: object = {}) => {
      const receivers = { get: () => ({ ...before, ...more }), state: () => state };
      const deps = { catalog: { alerts: { receivers } } };
      return route.handle({ deps, workspaceId: "w", params: { id: "r" } }).tag;
    };
    const state = { sentAt: 1_000, failingSince: 2_000, reason: "HTTP 500" };
    expect(tagOf(state)).toBe(tagOf({}));
    expect(tagOf({}, { enabled: false })).not.toBe(tagOf({}));
  });

  const hook = { name: "N", type: "webhook", enabled: true, url, authorization: "Bearer a" };
  const again = "Expected the secret again, since the stored one is for another address";

  test("keeps in a change what the request leaves out, and loses a secret that is null", async () => {
    const changed = async (body: object, before: object = hook) =>
      (await send(CHANGE, body, { before })).stored[0]![1];
    expect(await changed({})).toStrictEqual(hook);
    expect(await changed({ name: " New ", enabled: false })).toStrictEqual({
      ...{ ...hook, name: "New", enabled: false },
    });
    const { authorization: _, ...open } = hook;
    expect(await changed({ authorization: null })).toStrictEqual(open);
    // Another path of the same host.
    const moved = { url: "https://hooks.test/b" };
    expect(await changed(moved)).toStrictEqual({ ...hook, ...moved });
    const elsewhere = { url: "https://other.test/" };
    expect(await changed(elsewhere, open)).toStrictEqual({ ...open, ...elsewhere });
    const both = { ...elsewhere, authorization: "Bearer b" };
    expect(await changed(both)).toStrictEqual({ ...hook, ...both });
  });

  test.each([
    [{ url: "https://other.test/a" }, hook, "/authorization"],
    [{ url: "http://hooks.test/a" }, hook, "/authorization"],
    [{ url: "https://hooks.test:8443/a" }, hook, "/authorization"],
    [{ url }, { name: "N", type: "pagerduty", enabled: true, routingKey: "k" }, "/routingKey"],
  ])("needs its secret again with %j", async (body, before, path) => {
    expect(await faultsOf(CHANGE, body, { before })).toEqual([[path, again]]);
  });

  test("with a stored secret is refused for a malformed URL, by the path of the URL", async () => {
    for (const wrong of ["hooks", "http://", "ftp://hooks.test/a"]) {
      const faults = await faultsOf(CHANGE, { url: wrong, authorization: "b" }, { before: hook });
      expect(faults.map(([path]) => path)).toEqual(["/url"]);
    }
    const faults = await faultsOf(CHANGE, { url: "hooks" }, { before: hook });
    expect(faults.map(([path]) => path)).toEqual(["/url"]);
  });
});

test("an alert is answered with its rule and the results of its notifications, without claims", () => {
  const sent = { receiverId: "r", phase: "begin", state: "sent", attempts: 1 };
  const alert = {
    ...{ id: "a", workspaceId: "w", kind: "lag", ruleId: "u", ruleName: "Late", message: "M" },
    subject: { type: "destination", id: "d", name: "D" },
    notifications: [{ ...sent, claim: { by: "n" }, accepted: ["x"] }],
    createdAt: 1_000,
  };
  const asked: unknown[] = [];
  const list = (...given: unknown[]) => {
    asked.push(given);
    return { items: [alert, { ...alert, endedAt: 2_000 }], total: 250 };
  };
  const [{ handle }] = alertRoutes;
  const answerTo = (query: object): any =>
    handle({ deps: { catalog: { alerts: { list } } }, workspaceId: "w", query } as never);
  const { alerts, paging } = answerTo({ state: "open", page: 2 });
  const shown = {
    ...{ id: "a", state: "open", kind: "lag", rule: { id: "u", name: "Late" }, message: "M" },
    ...{ subject: alert.subject, beganAt: "1970-01-01T00:00:01.000Z", notifications: [sent] },
  };
  expect(alerts).toStrictEqual([
    shown,
    { ...shown, state: "ended", endedAt: "1970-01-01T00:00:02.000Z" },
  ]);
  expect(paging).toEqual({ total: 250, next: "/alerts?page=3&state=open" });
  answerTo({});
  expect(asked).toEqual([
    ["w", 2, "open"],
    ["w", 1, undefined],
  ]);
});
