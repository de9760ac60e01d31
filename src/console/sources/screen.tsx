import { useState } from "preact/hooks";
import { Button, CopyableCode, Switch } from "../components/button.tsx";
import { CodeBlock } from "../components/code-block.tsx";
import { ConfirmButton, DeleteButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { FieldConflicts, useItemForm } from "../components/forms/use-save.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Badge, FactList, Loaded, Panel, ScreenHeader } from "../components/layout.tsx";
import { ActionMenu } from "../components/menu.tsx";
import { MinuteTime, Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { ConnectionList } from "../connections/connection-list.tsx";
import type { Source } from "../data/model.ts";
import { reloadIfChanged, type StoredState } from "../data/save.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { MetricCharts } from "../metrics/metric-charts.tsx";
import { hrefTo, navigate, type ScreenProps } from "../router.ts";
import { RecentEvents } from "../tail/recent-events.tsx";
import { commonTexts } from "../texts/common.ts";
import { sourceTexts } from "../texts/sources.ts";
import { SettingsForm } from "./settings-form.tsx";
import { type SnippetKind, snippetOf } from "./snippet-code.ts";
import { SourceList } from "./source-list.tsx";
import { TestEvent } from "./test-event.tsx";

const POLL_MS = 10_000;

export function Screen({ subpath: [id] }: ScreenProps) {
  if (id === undefined || id === "new") return <SourceList isNew={id === "new"} />;
  const permission = missingPermission("workspace:admin");
  if (permission !== undefined) return <SourceFigures key={id} id={id} permission={permission} />;
  return <SourcePage key={id} id={id} />;
}

/**
 * Returns the properties of the `ScreenHeader` for a source. `source` is undefined while it is
 * loading.
 */
const headerOf = (source: Pick<Source, "name" | "enabled"> | undefined) => ({
  title: isolated(source?.name ?? commonTexts.source),
  parent: { href: hrefTo("sources"), text: commonTexts.sources },
  status: source && !source.enabled && <Badge>{commonTexts.disabled}</Badge>,
});

/**
 * Screen of one source, with its write key, an install snippet, a test event and its destinations.
 */
function SourcePage({ id }: { id: string }) {
  const resource = useResource(async () => {
    const [{ answer, tag }, { workspace }] = await Promise.all([
      client.callTagged("GET /v2/sources/{id}", { params: { id } }),
      client.call("GET /v2/workspace"),
    ]);
    return { source: answer.source, tag, dataPlane: workspace.dataPlaneURL };
  }, [id]);
  const { value, reload } = resource;
  return (
    <>
      <ScreenHeader {...headerOf(value?.source)}>
        {value && <SourceActions {...value} reload={reload} />}
      </ScreenHeader>
      <Loaded resource={resource}>
        {(loaded) => (
          <>
            <div class="columns">
              <div class="stack">
                <Panel title={sourceTexts.installSnippet}>
                  <Snippet {...loaded} />
                </Panel>
                <Panel title={sourceTexts.sendTestEvent}>
                  <TestEvent {...loaded} />
                </Panel>
                <RecentEvents of={{ sourceId: id }} />
              </div>
              <div class="stack">
                <Panel title={commonTexts.source}>
                  <SourceFacts {...loaded} reload={reload} />
                </Panel>
                <Panel title={sourceTexts.settings.title}>
                  <SettingsForm {...loaded} reload={reload} />
                </Panel>
                <Panel title={commonTexts.destinations} flush>
                  <ConnectionList of="source" id={id} />
                </Panel>
              </div>
            </div>
            {missingPermission("events:read") === undefined && (
              <MetricCharts kind="source" id={id} />
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

type SourceProps = StoredState & { source: Source };

function SourceActions({ source: { id, name }, tag, reload }: SourceProps) {
  const input = { params: { id }, ifMatch: tag };
  return (
    <ActionMenu>
      <ConfirmButton
        icon="turn"
        needs="workspace:admin"
        title={sourceTexts.rotateQuestion}
        text={sourceTexts.rotateConsequence}
        action={sourceTexts.rotateAction}
        onConfirm={async () => {
          const request = client.call("POST /v2/sources/{id}/rotate-write-key", input);
          await reloadIfChanged(request, reload);
          await reload();
          showToast(sourceTexts.writeKeyRotated(name));
        }}
      >
        {sourceTexts.rotateWriteKey}
      </ConfirmButton>
      <DeleteButton
        noun={sourceTexts.sourceNoun}
        name={name}
        consequence={sourceTexts.deleteConsequence}
        remove={async () => {
          await reloadIfChanged(client.call("DELETE /v2/sources/{id}", input), reload);
          navigate(hrefTo("sources"));
        }}
      />
    </ActionMenu>
  );
}

/** Shows when the source's last event was received, according to the metrics. */
function LastEvent({ id }: { id: string }) {
  const { value } = useResource(
    () => client.call("GET /v2/metrics/totals", { query: { kind: "source", ids: id } }),
    [id],
    POLL_MS,
  );
  if (value === undefined) return commonTexts.noFigure;
  const at = value.items[0]?.lastReceivedAt;
  return at === undefined ? sourceTexts.noEventYet : <MinuteTime at={at} />;
}

/** Link to the search for the source's events that were refused at ingestion. */
function RefusedEventsLink({ id }: { id: string }) {
  const href = hrefTo("search", { sourceId: id, outcome: "refused" });
  return <a href={href}>{sourceTexts.findRefusedEvents}</a>;
}

function SourceFacts({ source, tag, reload }: SourceProps) {
  const { id, enabled, writeKey, createdAt } = source;
  const readsEvents = missingPermission("events:read") === undefined;
  return (
    <>
      <Switch
        on={enabled}
        onChange={async (on) => {
          await client.call("PUT /v2/sources/{id}", { params: { id }, body: { enabled: on } });
          await reload();
        }}
      >
        {enabled ? commonTexts.enabled : sourceTexts.disabledEffect}
      </Switch>
      <FactList
        facts={[
          [sourceTexts.writeKey, <CopyableCode value={writeKey} name={sourceTexts.writeKeyNoun} />],
          [commonTexts.id, <CopyableCode value={id} name={commonTexts.idNoun} />],
          readsEvents && [sourceTexts.lastEvent, <LastEvent id={id} />],
          readsEvents && [sourceTexts.refusedEvents, <RefusedEventsLink id={id} />],
          [commonTexts.created, <Time at={createdAt} />],
        ]}
      />
      <RenameForm source={source} tag={tag} reload={reload} />
    </>
  );
}

function RenameForm({ source: { id, name: before }, tag, reload }: SourceProps) {
  const form = useItemForm({
    name: `source-name/${id}`,
    base: { name: before },
    tag,
    reload,
    savedText: sourceTexts.nameChanged,
    send: (values, ifMatch) =>
      client.callTagged("PUT /v2/sources/{id}", { params: { id }, body: values, ifMatch }),
    valuesOf: (now: { source: Source }) => ({ name: now.source.name }),
    labelOf: () => commonTexts.name,
  });
  const { submit, busy, error } = useSubmit(() => form.submit());
  const name = form.values.name as string;
  return (
    <form class="form" onSubmit={submit}>
      <TextField label={commonTexts.name} required {...form.input("name")} />
      <ErrorNotice error={error} />
      {form.conflict && <FieldConflicts {...form.conflict} />}
      {name !== before && (
        <div class="ends">
          <Button type="submit" kind="main" needs="workspace:admin" busy={busy}>
            {sourceTexts.rename}
          </Button>
        </div>
      )}
    </form>
  );
}

const { kinds } = sourceTexts.snippets;
const snippetOptions = Object.entries(kinds).map(([value, { text }]) => ({ value, text }));

/** Sample code that sends the source's events, for a page, an app, an email or a terminal. */
function Snippet({ source, dataPlane }: { source: Source; dataPlane: string }) {
  const [kind, setKind] = useState<SnippetKind>("script");
  const text = snippetOf[kind](dataPlane, source.writeKey);
  return (
    <>
      <SelectField
        label={sourceTexts.snippets.label}
        value={kind}
        options={snippetOptions}
        onChange={(value) => setKind(value as SnippetKind)}
      />
      <CodeBlock text={text} name={sourceTexts.snippetNoun} wrap />
      <p class="quiet small">{kinds[kind].hint}</p>
    </>
  );
}

/** Screen of one source for a session that may read its events but not its settings. */
function SourceFigures({ id, permission }: { id: string; permission: string }) {
  const resource = useResource(() => loadSource(id), [id], POLL_MS);
  return (
    <>
      <ScreenHeader {...headerOf(resource.value)} />
      <Loaded resource={resource}>
        {() => (
          <>
            <p class="notice">{sourceTexts.settingsRequire(permission)}</p>
            <RecentEvents of={{ sourceId: id }} />
            <MetricCharts kind="source" id={id} />
          </>
        )}
      </Loaded>
    </>
  );
}

async function loadSource(id: string) {
  const { sources } = await client.call("GET /v2/status/sources", { query: { text: id } });
  const source = sources.find((it) => it.id === id);
  if (source === undefined) throw new Error(sourceTexts.notFound);
  return source;
}
