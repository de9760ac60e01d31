import {
  type CodeKindInfo,
  type Language,
  type ListedCode,
  languageName,
  libraries,
} from "../code-kinds/code-kind.ts";
import { Dialog } from "../components/dialog.tsx";
import { Form, SelectField, TextField } from "../components/forms/fields.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { ItemLink } from "../components/item-link.tsx";
import { Badge } from "../components/layout.tsx";
import { type ListPage, type ListQuery, ListScreen } from "../components/list-screen.tsx";
import { Name } from "../components/name.tsx";
import { type Column, column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { client, missingPermission } from "../data/session.ts";
import { isolated } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import { saveText, textName } from "./editing/unsaved-text.ts";
import { starterCode } from "./samples/sample-code.ts";
import { codeTemplates, templateCode } from "./samples/templates.ts";

/** Screen that lists all transformations or all libraries, published or not. */
export function CodeList({ kind, isNew }: { kind: CodeKindInfo; isNew: boolean }) {
  return (
    <>
      <ListScreen {...kind} load={(query) => loadCode(kind, query)} columns={columnsOf(kind)}>
        {kind === libraries ? codeTexts.libraryExplained : codeTexts.transformationExplained}
      </ListScreen>
      {isNew && <NewCodeDialog kind={kind} />}
    </>
  );
}

type CodeRow = ListedCode & { suspended: string | undefined };

async function loadCode(kind: CodeKindInfo, query: ListQuery): Promise<ListPage<CodeRow>> {
  const [{ items, total }, suspended] = await Promise.all([
    kind.list(query),
    listSuspensions(kind),
  ]);
  const reasons = new Map(suspended.map((it) => [it.transformationVersionId, it.reason]));
  const rows = items.map((code) => ({ ...code, suspended: reasons.get(code.versionId) }));
  return { items: rows, total };
}

/**
 * Lists the suspended revisions, which the server does not run for a while because all their latest
 * events failed. Resolves with `[]` for libraries, and if the session lacks the permission
 * `events:read`.
 */
export async function listSuspensions(kind: CodeKindInfo) {
  if (kind === libraries || missingPermission("events:read") !== undefined) return [];
  return (await client.call("GET /v2/suspensions")).suspensions;
}

function columnsOf(kind: CodeKindInfo): Column<CodeRow>[] {
  return [
    column.name(
      commonTexts.name,
      ({ id, name, description }) => (
        <>
          <ItemLink cut screen={kind.screen} id={id} name={name} />
          {description && <p class="quiet small cut">{description}</p>}
        </>
      ),
      "name",
    ),
    column.narrow(commonTexts.state, (row) => <CodeStateBadge {...row} />),
    column.plain(
      kind === libraries ? codeTexts.importedAs : commonTexts.destinations,
      ({ destinations = [], importName }) =>
        kind === libraries ? (
          <code>
            <Name>{importName}</Name>
          </code>
        ) : (
          <span class={destinations.length === 0 ? "quiet" : undefined}>
            {destinations.map(({ name }) => isolated(name)).join(", ") || commonTexts.none}
          </span>
        ),
    ),
    column.narrow(codeTexts.language, ({ language }) => languageName(language), "language"),
    column.narrow(commonTexts.updated, ({ updatedAt }) => <Time at={updatedAt} />, "updatedAt"),
  ];
}

/** Badge with the text `Live`, `Draft` or `Suspended`. */
export function CodeStateBadge(props: { isPublished: boolean; suspended?: string | undefined }) {
  if (props.suspended !== undefined) {
    return (
      <span title={props.suspended}>
        <Badge tone="bad">{commonTexts.suspended}</Badge>
      </span>
    );
  }
  return props.isPublished ? (
    <Badge tone="good">{codeTexts.live}</Badge>
  ) : (
    <Badge>{codeTexts.draft}</Badge>
  );
}

const languages = [
  { value: "javascript", text: commonTexts.javaScript },
  { value: "pythonfaas", text: commonTexts.python },
];

/** Dialog that creates a draft of a transformation or library, and then opens its page. */
function NewCodeDialog({ kind }: { kind: CodeKindInfo }) {
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
