import { useState } from "preact/hooks";
import { Dialog } from "../components/dialog.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { hrefTo, navigate } from "../router.ts";
import { type CodeKindInfo, type Language, starterCode } from "./code-kind.ts";

const languages = [
  { value: "javascript", text: "JavaScript" },
  { value: "pythonfaas", text: "Python" },
];

/** Dialog that creates a draft. After the creation, the draft's page opens. */
export function NewCodeDialog({ kind }: { kind: CodeKindInfo }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [language, setLanguage] = useState<Language>("javascript");
  const close = () => navigate(hrefTo(kind.screen));
  return (
    <Dialog title={`New ${kind.singular}`} onClose={close}>
      <Form
        action="Create"
        needs={kind.createPermission}
        onCancel={close}
        onSubmit={async () => {
          const code = starterCode(kind, language);
          const { id } = await kind.createDraft({ name, description, language, code });
          navigate(hrefTo(kind.screen, id));
        }}
      >
        {(errorAt) => (
          <>
            <TextField
              label="Name"
              value={name}
              onInput={setName}
              error={errorAt("/name")}
              required
              autoFocus
            />
            <TextField label="Description" value={description} onInput={setDescription} optional />
            <SelectField
              label="Language"
              value={language}
              options={languages}
              onChange={(value) => setLanguage(value as Language)}
              hint="Cannot be changed later"
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
