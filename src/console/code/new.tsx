import { useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Fault, faultOf } from "../parts/fault.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { useSubmit } from "../parts/form.ts";
import { go, to } from "../router.ts";
import { beginning, type Kind, type Language } from "./kinds.ts";

const languages = [
  { value: "javascript", text: "JavaScript" },
  { value: "pythonfaas", text: "Python" },
];

/** Asks for what cannot be changed later, makes a draft, and opens it. */
export function NewCode({ kind }: { kind: Kind }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [language, setLanguage] = useState<Language>("javascript");
  const { submit, busy, error } = useSubmit(async () => {
    const code = beginning(kind, language);
    const { id } = await kind.make({ name, description, language, code });
    go(to(kind.screen, id));
  });
  return (
    <Dialog title={`New ${kind.one}`} onClose={() => go(to(kind.screen))}>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          wrong={faultOf(error, "/name")}
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
        <Fault error={error} />
        <div class="ends">
          <Button onClick={() => go(to(kind.screen))}>Cancel</Button>
          <Button kind="main" type="submit" busy={busy}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
