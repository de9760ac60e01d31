import { expect, test } from "bun:test";
import {
  authenticate,
  permit,
  permitAny,
  sentToken,
} from "../../../src/api/request/authenticate.ts";
import type { Permission } from "../../../src/catalog/model.ts";
import { ApiError } from "../../../src/errors.ts";

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
const headersOf = (authorization?: string, cookie?: string) =>
  new Headers({ ...(authorization && { authorization }), ...(cookie && { cookie }) });

test.each([
  ["Bearer pm_a", "pm_a"],
  ["bearer  pm_a", "pm_a"],
  ["BEARER pm_a", "pm_a"],
  [basic("me:pm_a"), "pm_a"],
  [basic(":pm_a"), "pm_a"],
  [basic("pm_a:"), "pm_a"],
  [basic("me:a:b"), "a:b"],
  [basic("me:a").replace("Basic", "basic"), "a"],
  [basic("pm_a"), undefined],
  [basic(":"), ""],
  ["Bearer", undefined],
  ["Bearer a b", undefined],
  ["Digest pm_a", undefined],
  ["pm_a", undefined],
  [undefined, undefined],
])("the header Authorization %j has the token %j", (header, token) => {
  expect(sentToken(headersOf(header))).toBe(token);
});

test("a request is of the token in its header, or else of the session in its cookie", () => {
  const principal = (tokenId: string) => ({ workspaceId: "w", tokenId, permissions: new Set() });
  const catalog = {
    tokens: { authenticate: (secret: string) => (secret === "t" ? principal("token") : undefined) },
    sessions: {
      authenticate: (secret: string) => (secret === "s" ? principal("session") : undefined),
    },
  } as unknown as Parameters<typeof authenticate>[0];
  const asked = (header?: string, cookie?: string) => {
    try {
      return authenticate(catalog, headersOf(header, cookie)).tokenId;
    } catch (error) {
      const { refusal, message } = error as ApiError;
      return `${refusal}: ${message}`;
    }
  };
  const session = "pixelmill-session=s";
  expect(asked("Bearer t")).toBe("token");
  expect(asked("Bearer t", session)).toBe("token");
  expect(asked(undefined, session)).toBe("session");
  const refused = (message: string) => `unauthenticated: ${message}`;
  const invalid = refused("Invalid, expired or revoked token");
  expect(asked("Bearer x", session)).toBe(invalid);
  expect(asked(undefined, "pixelmill-session=x")).toBe(refused("Session expired"));
  const none = refused("Expected an Authorization header with a Bearer token");
  for (const header of [undefined, "Digest t"]) expect(asked(header)).toBe(none);
  expect(asked("Digest t", session)).toBe(none);
});

test("a caller needs each permission of a route, or all of one of several sets", () => {
  const permissions = new Set<Permission>(["events:read", "audit:read"]);
  const caller = { workspaceId: "w", tokenId: "t", permissions };
  const lacking = (of: string) => new ApiError("forbidden", `The token lacks the permission ${of}`);
  permit(caller, []);
  permit(caller, ["events:read", "audit:read"]);
  const both: Permission[] = ["libraries:edit", "events:read", "events:replay"];
  expect(() => permit(caller, both)).toThrow(lacking("libraries:edit and events:replay"));
  permitAny(caller, [["libraries:edit"], ["events:read", "audit:read"]]);
  permitAny(caller, [["libraries:edit"], []]);
  const sets: Permission[][] = [["libraries:edit"], ["events:read", "events:replay"]];
  expect(() => permitAny(caller, sets)).toThrow(
    lacking("libraries:edit or events:read and events:replay"),
  );
});
