import { TextField } from "../../components/forms/fields.tsx";
import { codeTexts } from "../../texts/code.ts";

/** Field for why a revision is published. The note is shown in the history and the audit log. */
export function NoteField(props: { value: string; onInput: (note: string) => void }) {
  return <TextField label={codeTexts.note} hint={codeTexts.noteHint} optional {...props} />;
}
