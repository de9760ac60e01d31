import { useState } from "preact/hooks";
import { type CodeContext, type Revision, withLineFeeds } from "../../code-kinds/code-kind.ts";
import { changedState } from "../../data/save.ts";
import type { MergeRequest } from "./merge-dialog.tsx";

interface MergedText {
  code: string;
  isChanged: boolean;
  setCode: (code: string) => void;
  /** Id of the revision that the edited code is based on. */
  baseVersionId: string;
  setBaseVersionId: (versionId: string) => void;
}

/**
 * Component state for merging the edited code with a revision that another user saved after the
 * edit began. The code cannot be saved or published before this merge.
 */
export function useMerge(context: CodeContext, text: MergedText) {
  const { kind, newest, newestVersionId, reload } = context;
  const [request, setRequest] = useState<MergeRequest>();
  const isOutdated = text.isChanged && text.baseVersionId !== newest.versionId;

  async function open(): Promise<void> {
    const base = await kind.getRevision(newest.id, text.baseVersionId);
    setRequest({ base: base.code, yours: text.code, theirs: newest });
  }

  return {
    mergeRequest: request,
    /** Whether the code is based on another revision than `context.newest` and must be merged. */
    isOutdated,
    openMerge: open,
    closeMerge: () => setRequest(undefined),
    useMerged(code: string) {
      if (request === undefined) return;
      text.setBaseVersionId(request.theirs.versionId);
      text.setCode(code);
      setRequest(undefined);
    },
    /**
     * Calls `save`, unless the code must be merged first. Opens the merge dialog if it must, or if
     * `save` fails because another user has saved a revision. Resolves with true if `save` was
     * successful.
     */
    async saveOrMerge(save: () => Promise<unknown>): Promise<boolean> {
      if (isOutdated) {
        await open();
        return false;
      }
      try {
        await save();
        return true;
      } catch (error) {
        const changed = changedState(error);
        if (changed === undefined) throw error;
        await reload();
        const theirs = changed.current as Revision | undefined;
        if (!text.isChanged || theirs === undefined || theirs.versionId === newestVersionId) {
          throw error;
        }
        const base = (changed.base as Revision | undefined) ?? newest;
        setRequest({
          base: withLineFeeds(base).code,
          yours: text.code,
          theirs: withLineFeeds(theirs),
        });
        return false;
      }
    },
  };
}
