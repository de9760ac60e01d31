import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice, fieldError } from "../components/error-notice.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { hrefTo, navigate } from "../router.ts";
import { type CodeKind, type Language, starterCode } from "./code-kind.ts";

const languages = [
  { value: "javascript", text: "JavaScript" },
  { value: "pythonfaas", text: "Python" },
];

/** Asks for what cannot be changed later, makes a draft, and opens it. */
export function NewCodeDialog({ kind }: { kind: CodeKind }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [language, setLanguage] = useState<Language>("javascript");
  const { submit, busy, error } = useSubmit(async () => {
    const code = starterCode(kind, language);
    const { id } = await kind.createDraft({ name, description, language, code });
    navigate(hrefTo(kind.screen, id));
  });
  return (
    <Dialog title={`New ${kind.singular}`} onClose={() => navigate(hrefTo(kind.screen))}>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          error={fieldError(error, "/name")}
          required
          autoFocus
        />
        <TextField label="Description" value={description} onInput={setDescription} optional />
        <SelectField
          label="Language"
          value={language}
          options={languages}
          onChange={(value) => setLanguage(value as Language)}
          hint="It cannot be changed later"
        />
        <ErrorNotice error={error} />
        <div class="ends">
          <Button onClick={() => navigate(hrefTo(kind.screen))}>Cancel</Button>
          <Button kind="main" type="submit" busy={busy}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
