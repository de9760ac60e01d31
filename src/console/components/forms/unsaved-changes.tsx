import { commonTexts } from "../../texts/common.ts";
import { conflictTexts } from "../../texts/conflicts.ts";
import { Button } from "../button.tsx";
import { Badge } from "../layout.tsx";

/** Says that a form has changes that are not saved, with a button that discards them. */
export function UnsavedChanges({ form }: { form: { isEdited: boolean; discard: () => void } }) {
  if (!form.isEdited) return null;
  return (
    <p class="row">
      <Badge tone="warn">{conflictTexts.unsavedChanges}</Badge>
      <Button compact kind="plain" onClick={form.discard}>
        {commonTexts.discardChanges}
      </Button>
    </p>
  );
}
