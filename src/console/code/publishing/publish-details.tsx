import { type CodeContext, editorLanguage, libraries } from "../../code-kinds/code-kind.ts";
import { TextField } from "../../components/forms/fields.tsx";
import { Diff } from "../../editor/diff.tsx";
import { isolated } from "../../format.ts";
import { codeTexts } from "../../texts/code.ts";
import { commonTexts } from "../../texts/common.ts";

/**
 * Shows how the code to publish differs from the live code and, for a transformation, the names of
 * its destinations.
 */
export function PublishDetails(props: { context: CodeContext; code: string }) {
  const { context, code } = props;
  const { kind, newest, published } = context;
  const destinations = published?.destinations?.map(({ name }) => isolated(name)).join(", ");
  return (
    <>
      {kind !== libraries && (
        <p>
          {commonTexts.destinations}: <strong>{destinations || commonTexts.none}</strong>
        </p>
      )}
      {published === undefined && <p class="quiet">{codeTexts.nothingLive}</p>}
      {published?.code === code && <p class="quiet">{codeTexts.noDifferences}</p>}
      {published !== undefined && published.code !== code && (
        <>
          <p class="quiet">{codeTexts.diffToLive}</p>
          <Diff
            before={{ label: codeTexts.liveCode, text: published.code }}
            after={{ label: codeTexts.publishedCode, text: code }}
            language={editorLanguage(newest.language)}
          />
        </>
      )}
    </>
  );
}

/** Field for a note: the reason of a publication. The history and the audit log show the note. */
export function NoteField(props: { value: string; onInput: (note: string) => void }) {
  return <TextField label={codeTexts.note} hint={codeTexts.noteHint} optional {...props} />;
}
