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
 * edit began. Until the user has merged them, the edited code can be neither saved nor published.
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
    /**
     * Whether the code was edited, and is based on another revision than `context.newest`, so that
     * it must be merged first.
     */
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
     * Calls `save`, and resolves with true if it succeeds. If the code must be merged first, or
     * `save` fails because another user has saved a revision, opens the merge dialog and resolves
     * with false.
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
