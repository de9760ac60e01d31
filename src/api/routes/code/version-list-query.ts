import { type Static, type TObject, Type } from "@sinclair/typebox";
import { VERSIONS_COUNT_DEFAULT, VERSIONS_COUNT_MAX } from "../../../settings/limits.ts";
import { oneOf } from "../../../settings/schema-types.ts";

/** Query parameters of lists of revisions: how many revisions to return, and in which order. */
export const versionsQuery = {
  count: Type.Optional(
    Type.Integer({ minimum: 1, maximum: VERSIONS_COUNT_MAX, default: VERSIONS_COUNT_DEFAULT }),
  ),
  orderBy: Type.Optional(
    oneOf(["asc", "desc"], {
      default: "asc",
      description: "By creation; in any case",
    }),
  ),
};

export function versionsRange(query: Static<TObject<typeof versionsQuery>>) {
  return { count: query.count ?? VERSIONS_COUNT_DEFAULT, order: query.orderBy ?? "asc" };
}
