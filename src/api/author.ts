import type { Principal } from "../../../catalog/model.ts";
import { ApiError } from "../../../errors.ts";
import type { JobAuthor } from "../../../pipeline/model/replay-job.ts";
import type { RouteDeps } from "../../deps.ts";

/** Returns the member, or the service token, that sends a request, as replays name it. */
export function replayAuthor(
  { catalog }: Pick<RouteDeps, "catalog">,
  { workspaceId, tokenId, memberId }: Principal,
): JobAuthor {
  try {
    const { id, name } =
      memberId === undefined
        ? catalog.tokens.get(workspaceId, tokenId)
        : catalog.members.get(workspaceId, memberId);
    return { id, name };
  } catch (error) {
    // It may have been deleted since the request was authenticated.
    if (error instanceof ApiError && error.refusal === "missing") {
      return { id: memberId ?? tokenId, name: "" };
    }
    throw error;
  }
}
