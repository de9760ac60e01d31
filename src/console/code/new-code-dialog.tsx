import { type CodeKindInfo, type Language, libraries } from "../code-kinds/code-kind.ts";
import { Dialog } from "../components/dialog.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { useFields } from "../components/forms/use-fields.ts";
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

/** Dialog that creates a draft of a transformation or library, and then opens its page. */
export function NewCodeDialog({ kind }: { kind: CodeKindInfo }) {
  const { values, input, select } = useFields({
    name: "",
    description: "",
    language: "javascript" as Language,
    template: "",
  });
  const { name, description, language } = values;
  const templates = kind === libraries ? [] : codeTemplates;
  const offered = templates.filter((it) => templateCode(it, language) !== undefined);
  const template = offered.find((it) => it.name === values.template);
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
        <TextField label={commonTexts.name} required autoFocus {...input("name")} />
        <TextField label={codeTexts.description} optional {...input("description")} />
        <SelectField
          label={codeTexts.language}
          options={languages}
          hint={codeTexts.languageHint}
          {...select("language")}
        />
        {offered.length > 0 && (
          <SelectField
            label={codeTexts.template}
            options={[
              { value: "", text: codeTexts.noTemplate },
              ...offered.map(({ name }) => ({ value: name, text: codeTexts.templates[name] })),
            ]}
            hint={codeTexts.templateHint}
            {...select("template")}
            value={template?.name ?? ""}
          />
        )}
      </Form>
    </Dialog>
  );
}
