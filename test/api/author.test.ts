import { expect, test } from "bun:test";
import { authorOf } from "../../src/api/author.ts";
import { ApiError } from "../../src/errors.ts";

const missing = () => {
  throw new ApiError("missing", "Expected a member");
};
const catalog = {
  tokens: { get: (_: string, id: string) => (id === "t" ? { name: "ci" } : missing()) },
  members: { get: (_: string, id: string) => (id === "m" ? { name: "Ann" } : missing()) },
} as never;
const of = (tokenId: string, memberId?: string) =>
  authorOf({ catalog }, { workspaceId: "w", tokenId, memberId } as never);

test("the author of a request is the member, or else the token, and nameless once it is deleted", () => {
  expect(of("t")).toEqual({ id: "t", name: "ci" });
  expect(of("t", "m")).toEqual({ id: "m", name: "Ann" });
  expect(of("gone")).toEqual({ id: "gone", name: "" });
  expect(of("t", "gone")).toEqual({ id: "gone", name: "" });
});
