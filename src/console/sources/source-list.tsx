import type { AnswerOf, QueryOf } from "../../api/client.ts";
import { Dialog } from "../components/dialog.tsx";
import { Form, TextField } from "../components/forms/fields.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { Badge } from "../components/layout.tsx";
import { itemColumn, ListScreen, permittedLoad } from "../components/list-screen.tsx";
import { type Column, column } from "../components/table.tsx";
import { MinuteTime } from "../components/time.tsx";
import { client } from "../data/session.ts";
import { formatRate } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { sourceTexts } from "../texts/sources.ts";

const POLL_MS = 10_000;

type SourceListQuery = QueryOf<"GET /v2/status/sources">;
type ListedSource = AnswerOf<"GET /v2/status/sources">["sources"][number];
type SourceRow = Pick<ListedSource, "id" | "name" | "enabled"> & Partial<ListedSource>;

const columns: Column<SourceRow>[] = [
  itemColumn("sources"),
  column.narrow(commonTexts.state, ({ enabled }) => (
    <Badge tone={enabled ? "good" : undefined}>
      {enabled ? commonTexts.enabled : commonTexts.disabled}
    </Badge>
  )),
  column.number(
    sourceTexts.receivedRate,
    ({ receivedPerSecond }) =>
      receivedPerSecond === undefined ? commonTexts.noFigure : formatRate(receivedPerSecond),
    "received",
  ),
  column.narrow(sourceTexts.lastEvent, ({ lastReceivedAt }) =>
    lastReceivedAt === undefined ? (
      <span class="quiet">{commonTexts.noFigure}</span>
    ) : (
      <MinuteTime at={lastReceivedAt} />
    ),
  ),
];

/** Screen that lists all sources of the workspace. */
export function SourceList({ isNew }: { isNew: boolean }) {
  return (
    <>
      <ListScreen
        screen="sources"
        title={commonTexts.sources}
        singular={sourceTexts.sourceNoun}
        icon="source"
        createPermission="workspace:admin"
        {...permittedLoad<SourceRow>(
          async (query) => {
            const { sources, total } = await client.call("GET /v2/status/sources", {
              // The order comes from the page's address. The server refuses an unknown one.
              query: query as SourceListQuery,
            });
            return { items: sources, total };
          },
          async (query) => {
            const { sources, paging } = await client.call("GET /v2/sources", { query });
            return { items: sources, total: paging.total };
          },
        )}
        pollMs={POLL_MS}
        columns={columns}
      >
        {sourceTexts.sourceExplained}
      </ListScreen>
      {isNew && <NewSource />}
    </>
  );
}

function NewSource() {
  const { values, input } = useFields({ name: "" });
  const close = () => navigate(hrefTo("sources"));
  return (
    <Dialog title={commonTexts.newSource} onClose={close}>
      <Form
        action={sourceTexts.createSource}
        onCancel={close}
        onSubmit={async () => {
          const body = { ...values, type: "http" as const };
          const { source } = await client.call("POST /v2/sources", { body });
          navigate(hrefTo("sources", source.id));
        }}
      >
        <TextField
          label={commonTexts.name}
          required
          autoFocus
          placeholder={sourceTexts.nameExample}
          hint={sourceTexts.nameHint}
          {...input("name")}
        />
      </Form>
    </Dialog>
  );
}
