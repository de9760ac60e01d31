import { useMemo, useState } from "preact/hooks";
import {
  type CodeContext,
  editorLanguage,
  type Revision,
  withLineFeeds,
} from "../../code-kinds/code-kind.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField } from "../../components/forms/fields.tsx";
import { changedState } from "../../data/save.ts";
import { Diff } from "../../editor/diff.tsx";
import { mergeTexts } from "../../editor/merge-texts.ts";
import { commonTexts } from "../../texts/common.ts";
import { conflictTexts } from "../../texts/conflicts.ts";

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
 * edit began. The edited code can be neither saved nor published before it is merged.
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
     * Whether the code was edited, and is based on another revision than `context.newest`. It must
     * then be merged before it can be saved or published.
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
     * Calls `save`, and resolves with true if it succeeds. If the code must first be merged with
     * another user's newer revision, opens the merge dialog and resolves with false. Rejects if
     * `save` fails for another reason.
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

/**
 * Texts to merge: `base` is the code before both edits, `yours` is this user's edit of it, and
 * `theirs` is the revision that another user saved.
 */
interface MergeRequest {
  base: string;
  yours: string;
  theirs: Revision;
}

/** Dialog to merge the code of the editor with a revision that another user saved. */
export function MergeDialog(
  props: Pick<ReturnType<typeof useMerge>, "useMerged" | "closeMerge"> & { request: MergeRequest },
) {
  const { request, useMerged, closeMerge } = props;
  const { base, yours, theirs } = request;
  const merged = useMemo(() => mergeTexts(base, yours, theirs.code), [request]);
  const [result, setResult] = useState(merged.text);
  const [side, setSide] = useState<keyof typeof sides>("theirs");
  const sides = {
    theirs: { label: conflictTexts.theirs, text: theirs.code },
    yours: { label: conflictTexts.yours, text: yours },
    base: { label: conflictTexts.before, text: base },
  };
  return (
    <Dialog title={conflictTexts.mergeTitle} onClose={closeMerge} broad>
      <p>
        {conflictTexts.mergeExplain}{" "}
        {merged.overlaps === 0 ? conflictTexts.noOverlaps : conflictTexts.overlaps(merged.overlaps)}
      </p>
      <SelectField
        label={conflictTexts.compareWith}
        value={side}
        options={Object.entries(sides).map(([value, { label }]) => ({ value, text: label }))}
        onChange={(value) => setSide(value as typeof side)}
      />
      <Diff
        before={sides[side]}
        after={{ label: conflictTexts.resultOfMerge, text: result }}
        language={editorLanguage(theirs.language)}
        onChange={setResult}
      />
      <div class="ends">
        <Button onClick={closeMerge}>{commonTexts.cancel}</Button>
        <Button onClick={() => useMerged(theirs.code)}>{conflictTexts.takeTheirs}</Button>
        <Button kind="main" onClick={() => useMerged(result)}>
          {conflictTexts.useResult}
        </Button>
      </div>
    </Dialog>
  );
}
