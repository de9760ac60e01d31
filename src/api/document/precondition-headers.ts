import { Kind } from "@sinclair/typebox";
import type { Route } from "../route.ts";
import { Success } from "../schema/common.ts";

/** This file describes the headers ETag, If-Match and If-None-Match for the OpenAPI document. */

/** Whether a route answers with one resource and its entity tag in the header ETag. */
export function isAnsweredWithTag(route: Route): boolean {
  const { creates, current, answersTag, answer, path } = route;
  const isResource = answer !== Success && answer[Kind] !== "Undefined" && path.includes("{");
  return creates === true || answersTag === true || (current !== undefined && isResource);
}

export const tagHeaders = {
  ETag: {
    description: "Entity tag of the resource's state, for If-Match and If-None-Match",
    schema: { type: "string" },
  },
};
export const notModified = {
  description: "If-None-Match names the current state",
  headers: tagHeaders,
};

export function preconditionParameters({ current, answersTag, method }: Route) {
  const ifNoneMatch = (effect: string) =>
    statesHeader("If-None-Match", `none of which the resource may have: ${effect} one`);
  if (answersTag) return [ifNoneMatch("304 when it has")];
  if (current === undefined) return [];
  const effect = method === "GET" ? "304 when it has" : "412, and no change, when it has";
  return [
    statesHeader(
      "If-Match",
      "one of which the resource must have: otherwise 412 with the current state and its tag",
    ),
    ifNoneMatch(effect),
  ];
}

function statesHeader(name: string, condition: string) {
  const description = `\`*\`, or a list of entity tags, ${condition}`;
  return { name, in: "header", required: false, description, schema: { type: "string" } };
}
