import { describe, expect, test } from "bun:test";
import { authenticate } from "../../../src/api/request/authenticate.ts";
import { isJudgedInChange, UnprovenView } from "../../../src/api/request/unproven-view.ts";
import type { Route } from "../../../src/api/route.ts";
import type { Permission, Principal } from "../../../src/catalog/model.ts";

const principal = (tokenId: string, permissions: Permission[] = []): Principal => ({
  ...{ workspaceId: "w", tokenId, permissions: new Set(permissions) },
});

/**
 * Makes a change on a view, of which `handle` makes the change by calling `change`. `told` has what
 * was asked of the catalog, and which callers were handled.
 */
async function changed({
  judge = () => principal("old"),
  readmit = () => principal("new"),
  handle,
}: {
  judge?: () => Principal;
  readmit?: () => Principal;
  handle: (change: () => void, times: number) => unknown;
}) {
  const told: string[] = [];
  let check = () => {};
  const view = new UnprovenView({
    async current() {
      told.push("current");
    },
    async conditionally(judged, run) {
      check = () => void judged();
      try {
        return await run();
      } finally {
        check = () => {};
      }
    },
  });
  const answer = await view
    .change(principal("old"), { judge, readmit }, async ({ tokenId }) => {
      told.push(tokenId);
      return await handle(() => check(), told.filter((it) => it !== "current").length);
    })
    .catch((error: Error) => error.message);
  return { answer, told, isProven: view.isProven };
}

describe("a change on a view that may be outdated", () => {
  test("asks for nothing if it takes effect for the same caller", async () => {
    const handle = (change: () => void) => {
      change();
      return "changed";
    };
    expect(await changed({ handle })).toEqual({ answer: "changed", told: ["old"], isProven: true });
  });

  test("is made again for the present caller if the token has changed meanwhile", async () => {
    const handle = (change: () => void, times: number) => {
      change();
      return `changed at attempt ${times}`;
    };
    for (const judge of [
      () => principal("old", ["workspace:admin"]),
      () => {
        throw new Error("The token was revoked");
      },
    ]) {
      expect(await changed({ judge, handle })).toEqual({
        ...{ answer: "changed at attempt 2", told: ["old", "new"], isProven: true },
      });
    }
    const readmit = () => {
      throw new Error("The token was revoked");
    };
    expect(await changed({ judge: readmit, readmit, handle })).toMatchObject({
      ...{ answer: "The token was revoked", told: ["old"] },
    });
  });

  test("is made again on a current view if it ended without a change", async () => {
    const told = ["old", "current", "new"];
    const nothing = await changed({ handle: (_, times) => `attempt ${times}` });
    expect(nothing).toEqual({ answer: "attempt 2", told, isProven: true });
    const missing = await changed({
      handle(_, times) {
        throw new Error(`missing at attempt ${times}`);
      },
    });
    expect(missing).toEqual({ answer: "missing at attempt 2", told, isProven: true });
  });

  test("fails at once if the state that it changes refuses it", async () => {
    const handle = (change: () => void) => {
      change();
      throw new Error("The name is taken");
    };
    expect(await changed({ handle })).toMatchObject({ answer: "The name is taken", told: ["old"] });
  });
});

test("a view is brought up to date once", async () => {
  let asked = 0;
  const view = new UnprovenView({
    async current() {
      asked += 1;
    },
  } as never);
  expect(view.isProven).toBe(false);
  await view.catchUp();
  await view.catchUp();
  expect([asked, view.isProven]).toEqual([1, true]);
});

/** A catalog that knows the token `good` with one permission, and the session `open`. */
const catalog = {
  tokens: {
    authenticate: (secret: string) =>
      secret === "good" ? principal("token", ["events:read"]) : undefined,
  },
  sessions: {
    authenticate: (secret: string) => (secret === "open" ? principal("session") : undefined),
  },
} as never;

const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString("base64")}`;

test.each([
  ["Bearer good", "token"],
  ["bearer   good  ", "token"],
  [basic("name:good"), "token"],
  [basic("good:"), "token"],
  [basic(":good"), "token"],
  [basic("good"), "Expected an Authorization header with a Bearer token"],
  [basic("good:bad"), "Invalid, expired or revoked token"],
  [basic("a:b:good"), "Invalid, expired or revoked token"],
  ["Bearer bad", "Invalid, expired or revoked token"],
  [basic("a:good").replace("Basic", "Digest"), "Expected an Authorization header"],
  ["Bearer", "Expected an Authorization header with a Bearer token"],
  ["Bearer good bad", "Expected an Authorization header with a Bearer token"],
  ["", "Expected an Authorization header with a Bearer token"],
])("the credentials %p are those of, or are refused with: %s", (authorization, expected) => {
  const headers = new Headers({ authorization });
  const found = () => authenticate(catalog, headers).tokenId;
  if (expected === "token") expect(found()).toBe(expected);
  else expect(found).toThrow(expected);
});

test("a session counts only without an Authorization header", () => {
  const found = (session: string, more: Record<string, string> = {}) =>
    authenticate(catalog, new Headers({ cookie: `pixelmill-session=${session}`, ...more })).tokenId;
  expect(found("open")).toBe("session");
  expect(() => found("over")).toThrow("Session expired");
  expect(found("over", { authorization: "Bearer good" })).toBe("token");
  expect(() => found("open", { authorization: "Bearer bad" })).toThrow("revoked token");
});

test.each([
  [true, { needs: ["events:read"], readsInChange: true }, "good"],
  [false, { needs: ["events:read"] }, "good"],
  [false, { needs: ["events:replay"], readsInChange: true }, "good"],
  [false, { needs: ["events:read"], readsInChange: true }, "bad"],
  [false, { needs: "open", readsInChange: true }, "good"],
])("it is %p that %j is judged in its change with the token %p", (expected, route, token) => {
  const headers = new Headers({ authorization: `Bearer ${token}` });
  expect(isJudgedInChange(route as Route, catalog, headers)).toBe(expected);
});
