import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import type { CodeContext } from "../code-kinds/code-kind.ts";
import { Button, PauseButton } from "../components/button.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { ItemLink, NamedLink } from "../components/item-link.tsx";
import { Badge, Panel, PermissionRequired } from "../components/layout.tsx";
import { SearchedNameField } from "../components/name-select.tsx";
import { type Column, column, Table, TablePanel } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { client, missingPermission } from "../data/session.ts";
import { useNameSearch } from "../data/use-name-search.ts";
import { useFirstNames } from "../data/use-names.ts";
import { useAnswer } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import { withoutPrefix } from "../testing/run-report.ts";
import { codeLogTexts, codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";

type CodeLogLine = AnswerOf<"GET /v2/logs">["lines"][number];

/** Milliseconds between two requests for the latest log lines. */
const REFRESH_MS = 2_000;
const LINES_MAX = 200;

/** Lines that the published code of a transformation wrote with `log(...)`, newest first. */
export function CodeLogs({ newest }: CodeContext) {
  if (missingPermission("events:read") !== undefined) {
    return <PermissionRequired permission="events:read" />;
  }
  return <LogTable transformationId={newest.id} />;
}

function LogTable({ transformationId }: { transformationId: string }) {
  useFirstNames();
  const [text, setText] = useState("");
  const [isPaused, setPaused] = useState(false);
  const query = { transformationId, limit: LINES_MAX, ...(text !== "" && { text }) };
  const everyMs = isPaused ? undefined : REFRESH_MS;
  const { value, error, reload } = useAnswer("GET /v2/logs", { query }, everyMs);
  const { lines, missingNodes = [] } = value ?? {};
  return (
    <>
      <div class="row">
        <TextField label={codeLogTexts.filter} value={text} onInput={setText} maxLength={255} />
        <PauseButton isPaused={isPaused} onPause={setPaused} />
      </div>
      {missingNodes.length > 0 && (
        <p class="notice warn">{codeLogTexts.missing(missingNodes.join(", "))}</p>
      )}
      <TablePanel
        label={codeLogTexts.logs}
        columns={columns}
        rows={lines}
        keyOf={({ id }) => id}
        empty={{ icon: "tail", ...codeLogTexts.none }}
        error={error}
        retry={reload}
      />
    </>
  );
}

const columns: Column<CodeLogLine>[] = [
  column.narrow(commonTexts.time, ({ at }) => <Time at={at} exact />),
  column.name(codeLogTexts.message, ({ text }) => (
    <pre class="log-line">
      <bdi>{withoutPrefix(text)}</bdi>
    </pre>
  )),
  column.narrow(codeLogTexts.line, ({ line, library }) => codeLogTexts.place(line, library)),
  column.plain(commonTexts.destination, ({ destinationId }) => (
    <NamedLink kind="destination" id={destinationId} />
  )),
  column.plain(commonTexts.event, ({ messageId }) =>
    messageId === undefined ? (
      <span class="quiet">{codeLogTexts.unknownEvent}</span>
    ) : (
      <a href={hrefTo("search", { by: "messageId", text: messageId })}>
        <code class="small cut">{messageId}</code>
      </a>
    ),
  ),
  column.narrow(codeLogTexts.revision, ({ revision, transformationVersionId }) => (
    <span title={transformationVersionId}>{revision}</span>
  )),
];

/** Lists the destinations linked to a transformation, and lets the user link or unlink some. */
export function DestinationLinks(context: CodeContext) {
  const { newest, published, reload } = context;
  const linked = published?.destinations ?? [];
  const disconnect = async (destinationId: string) => {
    const key = "POST /transformations/{id}/disconnectFromDestination";
    await client.call(key, { params: { id: newest.id }, body: { destinationId } });
    await reload();
  };
  return (
    <>
      <Panel title={commonTexts.connect}>
        {missingPermission("workspace:admin") === undefined ? (
          <ConnectForm {...context} />
        ) : (
          <p class="quiet">{codeTexts.connectRequiresAdmin}</p>
        )}
      </Panel>
      <Panel title={codeTexts.connectedDestinations} flush>
        <Table
          label={codeTexts.connectedDestinations}
          rows={linked}
          keyOf={(it) => it.id}
          columns={
            [
              column.name(commonTexts.name, (it) => (
                <ItemLink screen="destinations" id={it.id} name={it.name} />
              )),
              column.narrow(commonTexts.state, ({ enabled }) => (
                <Badge tone={enabled ? "good" : "warn"}>
                  {enabled ? commonTexts.enabled : commonTexts.paused}
                </Badge>
              )),
              column.narrow("", (it) => (
                <Button
                  compact
                  kind="plain"
                  needs={missingPermission("destinations:connect") ?? "transformations:connect"}
                  onClick={() => disconnect(it.id)}
                >
                  {commonTexts.deletions.disconnect.label}
                </Button>
              )),
            ] satisfies Column<(typeof linked)[number]>[]
          }
          empty={{
            icon: "destination",
            title: commonTexts.noDestinationsConnected,
            text: codeTexts.noDestinationsHint,
          }}
        />
      </Panel>
    </>
  );
}

function ConnectForm({ newest, published, reload }: CodeContext) {
  const names = useNameSearch("destination");
  const [selected, setSelected] = useState("");
  const unselected = selected === "" ? codeTexts.selectDestinationFirst : undefined;

  async function connect() {
    const key = "POST /transformations/{id}/connectToDestination";
    await client.call(key, { params: { id: newest.id }, body: { destinationId: selected } });
    showToast(codeTexts.connected);
    setSelected("");
    await reload();
  }

  return (
    <div class="form">
      <SearchedNameField
        label={commonTexts.destination}
        value={selected}
        onChange={setSelected}
        hint={codeTexts.connectHint}
        none={commonTexts.selectOne}
        names={names}
        without={new Set(published?.destinations?.map(({ id }) => id))}
      />
      <div class="ends">
        <Button
          icon="link"
          needs={missingPermission("destinations:connect") ?? "transformations:connect"}
          disabledReason={published ? unselected : codeTexts.publishFirst}
          onClick={connect}
        >
          {commonTexts.connect}
        </Button>
      </div>
    </div>
  );
}
