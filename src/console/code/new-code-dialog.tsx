import { useState } from "preact/hooks";
import { type CodeKindInfo, type Language, libraries } from "../code-kinds/code-kind.ts";
import { Dialog } from "../components/dialog.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { hrefTo, navigate } from "../router.ts";
import { codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import { saveText, textName } from "./editing/unsaved-text.ts";
import { starterCode } from "./samples/sample-code.ts";
import { codeTemplates, templateCode } from "./samples/templates.ts";

const languages = [
  { value: "javascript", text: commonTexts.javaScript },
  { value: "pythonfaas", text: commonTexts.python },
];

/** Dialog that creates a draft. After the creation, the draft's page opens. */
export function NewCodeDialog({ kind }: { kind: CodeKindInfo }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [language, setLanguage] = useState<Language>("javascript");
  const [templateName, setTemplateName] = useState("");
  const templates = kind === libraries ? [] : codeTemplates;
  const offered = templates.filter((it) => templateCode(it, language) !== undefined);
  const template = offered.find((it) => it.name === templateName);
  const close = () => navigate(hrefTo(kind.screen));
  return (
    <Dialog title={commonTexts.newItem(kind.singular)} onClose={close}>
      <Form
        action={codeTexts.create}
        needs={kind.createPermission}
        onCancel={close}
        onSubmit={async () => {
          const code =
            (template && templateCode(template, language)) ?? starterCode(kind, language);
          const { id } = await kind.createDraft({ name, description, language, code });
          if (template) saveText(textName("events", id), JSON.stringify(template.event, null, 2));
          navigate(hrefTo(kind.screen, id));
        }}
      >
        {(errorAt) => (
          <>
            <TextField
              label={commonTexts.name}
              value={name}
              onInput={setName}
              error={errorAt("/name")}
              required
              autoFocus
            />
            <TextField
              label={codeTexts.description}
              value={description}
              onInput={setDescription}
              optional
            />
            <SelectField
              label={codeTexts.language}
              value={language}
              options={languages}
              onChange={(value) => setLanguage(value as Language)}
              hint={codeTexts.languageHint}
            />
            {offered.length > 0 && (
              <SelectField
                label={codeTexts.template}
                value={template?.name ?? ""}
                options={[
                  { value: "", text: codeTexts.noTemplate },
                  ...offered.map(({ name }) => ({ value: name, text: codeTexts.templates[name] })),
                ]}
                onChange={setTemplateName}
                hint={codeTexts.templateHint}
              />
            )}
          </>
        )}
      </Form>
    </Dialog>
  );
}
