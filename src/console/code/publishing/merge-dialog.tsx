import { useMemo, useState } from "preact/hooks";
import { editorLanguage, type Revision } from "../../code-kinds/code-kind.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField } from "../../components/forms/fields.tsx";
import { Diff } from "../../editor/diff.tsx";
import { mergeTexts } from "../../editor/merge-texts.ts";
import { commonTexts } from "../../texts/common.ts";
import { conflictTexts } from "../../texts/conflicts.ts";

/**
 * Three versions of a code to merge: this user edited `base` to `yours`, and another user edited
 * `base` to `theirs`.
 */
export interface MergeRequest {
  base: string;
  yours: string;
  theirs: Revision;
}

/** Dialog to merge the code of the editor with a revision that another user saved. */
export function MergeDialog(props: {
  request: MergeRequest;
  onUse: (code: string) => void;
  onClose: () => void;
}) {
  const { request, onUse, onClose } = props;
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
    <Dialog title={conflictTexts.mergeTitle} onClose={onClose} broad>
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
        <Button onClick={onClose}>{commonTexts.cancel}</Button>
        <Button onClick={() => onUse(theirs.code)}>{conflictTexts.takeTheirs}</Button>
        <Button kind="main" onClick={() => onUse(result)}>
          {conflictTexts.useResult}
        </Button>
      </div>
    </Dialog>
  );
}
