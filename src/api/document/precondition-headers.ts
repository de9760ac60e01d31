import { Kind } from "@sinclair/typebox";
import type { Route } from "../route.ts";
import { Success } from "../schema/common.ts";

/** The headers ETag, If-Match and If-None-Match in the OpenAPI document. */

/** Whether a successful answer of a route is one resource with its entity tag. */
export function isAnsweredWithTag({ creates, current, answer, path }: Route): boolean {
  const isResource = answer !== Success && answer[Kind] !== "Undefined" && path.includes("{");
  return creates === true || (current !== undefined && isResource);
}

export const tagHeaders = {
  ETag: {
    description: "Entity tag of the resource's state, for If-Match and If-None-Match",
    schema: { type: "string" },
  },
};
export const notModified = {
  description: "If-None-Match names the state of now",
  headers: tagHeaders,
};

export function preconditionParameters({ current, method }: Route) {
  if (current === undefined) return [];
  const states = "`*`, or a list of entity tags";
  const effect = method === "GET" ? "304 when it has" : "412, and no change, when it has";
  return [
    {
      name: "If-Match",
      in: "header",
      required: false,
      description: `${states}, one of which the resource must have: otherwise 412 with the state of now and its tag`,
      schema: { type: "string" },
    },
    {
      name: "If-None-Match",
      in: "header",
      required: false,
      description: `${states}, none of which the resource may have: ${effect} one`,
      schema: { type: "string" },
    },
  ];
}
