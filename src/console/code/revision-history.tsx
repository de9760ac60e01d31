import { useState } from "preact/hooks";
import { VERSIONS_COUNT_MAX } from "../../settings/limits.ts";
import { type CodeContext, editorLanguage, type Revision } from "../code-kinds/code-kind.ts";
import { Button } from "../components/button.tsx";
import { ConfirmDialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SelectField } from "../components/forms/fields.tsx";
import { fieldsOf } from "../components/forms/use-fields.ts";
import { Badge, ClampedText, Panel } from "../components/layout.tsx";
import { useLatest } from "../components/list-screen.tsx";
import { Name } from "../components/name.tsx";
import { type Column, column, OlderRows, Table } from "../components/table.tsx";
import { formatTime, Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { allPages } from "../data/all-pages.ts";
import { reloadIfChanged } from "../data/save.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { Diff } from "../editor/diff.tsx";
import { isolated } from "../format.ts";
import { codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import { NoteField, PublishDetails } from "./publishing/publish-details.tsx";

/** Ids of two revisions to compare. */
interface RevisionPair {
  before: string;
  after: string;
}

/**
 * Number of revisions that the list shows at first. Each click on the button `Load older` adds the
 * same number.
 */
const PAGE_REVISIONS = 100;

/**
 * List of revisions with their authors. The user can compare any two revisions, and publish an
 * earlier one again.
 */
export function RevisionHistory(context: CodeContext) {
  const { kind, newest, published, tag, reload } = context;
  const [confirmed, setConfirmed] = useState<Revision>();
  const [count, setCount] = useState(PAGE_REVISIONS);
  const authors = useResource(loadAuthorNames, []);
  const loaded = useResource(
    () => kind.listRevisions(newest.id, count),
    [newest.id, newest.versionId, published?.versionId, count],
  );
  const revisions = useLatest(loaded.value);
  const isComplete = revisions === undefined || revisions.length < count;
  const numberOf = (revision: Revision) => (isComplete ? numberIn(revisions ?? [], revision) : "");
  const live = published?.versionId;
  const [pair, setPair] = useState<Partial<RevisionPair>>({});
  const after = pair.after ?? newest.versionId;
  const before = pair.before ?? comparisonBase(revisions ?? [], after, live);

  async function publish({ versionId }: Revision, note: string) {
    const { warnings = [] } = await kind.publish(versionId, tag, { note });
    showToast([codeTexts.liveFromNextBatch, ...warnings].join(". "));
    await Promise.all([reload(), loaded.reload()]);
  }

  return (
    <>
      <ErrorNotice error={loaded.error} retry={loaded.reload} />
      <Panel title={codeTexts.revisions} flush>
        <Table
          label={codeTexts.revisions}
          rows={revisions}
          keyOf={({ versionId }) => versionId}
          columns={
            [
              column.narrow(codeTexts.number, numberOf),
              column.plain(commonTexts.created, ({ createdAt, versionId }) => (
                <span class="row">
                  <Time at={createdAt} />
                  {versionId === live && <Badge tone="good">{codeTexts.live}</Badge>}
                  {versionId === newest.versionId && <Badge flat>{codeTexts.newest}</Badge>}
                </span>
              )),
              column.plain(codeTexts.author, ({ createdBy }) => (
                <Name>{(createdBy && authors.value?.get(createdBy)) ?? createdBy}</Name>
              )),
              column.plain(
                codeTexts.note,
                ({ note }) => note && <ClampedText text={isolated(note)} />,
              ),
              column.narrow("", (revision) => (
                <span class="row fixed">
                  <Button
                    compact
                    kind="plain"
                    pressed={revision.versionId === after}
                    onClick={() => setPair({ after: revision.versionId })}
                  >
                    {codeTexts.compare}
                  </Button>
                  <Button
                    compact
                    needs={kind.editPermission}
                    disabledReason={
                      revision.versionId === live ? codeTexts.revisionIsLive : undefined
                    }
                    onClick={() => setConfirmed(revision)}
                  >
                    {isRollback(revision, live) ? codeTexts.rollBack : codeTexts.publish}
                  </Button>
                </span>
              )),
            ] satisfies Column<Revision>[]
          }
        />
        {!isComplete && (
          <OlderRows
            text={codeTexts.newestRevisions(revisions.length)}
            isComplete={count >= VERSIONS_COUNT_MAX}
            loadOlder={async () => setCount(count + PAGE_REVISIONS)}
          />
        )}
      </Panel>
      {confirmed && (
        <ConfirmPublish
          context={context}
          revision={confirmed}
          onClose={() => setConfirmed(undefined)}
          onPublish={async (note) => {
            await reloadIfChanged(publish(confirmed, note), reload);
            setConfirmed(undefined);
          }}
        />
      )}
      {revisions && revisions.length > 1 && (
        <Comparison
          revisions={revisions}
          numberOf={numberOf}
          pair={{ before, after }}
          onChange={setPair}
        />
      )}
    </>
  );
}

/** Returns a revision's number, 1 for the oldest. `revisions` has all revisions, newest first. */
function numberIn(revisions: readonly Revision[], { versionId }: Revision): string {
  return String(revisions.length - revisions.findIndex((it) => it.versionId === versionId));
}

/**
 * Whether publishing the revision would be a rollback: it is older than the live revision, and was
 * live before.
 */
function isRollback({ versionId, wasPublished }: Revision, live: string | undefined): boolean {
  return wasPublished && live !== undefined && versionId < live;
}

/** Dialog that shows how a revision differs from the live code, and asks whether to publish it. */
function ConfirmPublish(props: {
  context: CodeContext;
  revision: Revision;
  onClose: () => void;
  onPublish: (note: string) => Promise<unknown>;
}) {
  const { context, revision, onClose, onPublish } = props;
  const [note, setNote] = useState("");
  const live = context.published?.versionId;
  const rollsBack = isRollback(revision, live);
  return (
    <ConfirmDialog
      title={rollsBack ? codeTexts.rollBackQuestion : codeTexts.publishQuestion}
      action={rollsBack ? codeTexts.rollBack : codeTexts.publish}
      onConfirm={() => onPublish(note)}
      onClose={onClose}
      broad
    >
      <p>{effectOf(revision, live)}</p>
      <PublishDetails context={context} code={revision.code} />
      <NoteField value={note} onInput={setNote} />
    </ConfirmDialog>
  );
}

function effectOf(revision: Revision, live: string | undefined): string {
  if (isRollback(revision, live)) return codeTexts.rollBackEffect;
  if (live !== undefined && revision.versionId < live) return codeTexts.publishOlderEffect;
  return revision.wasPublished ? codeTexts.publishNewerEffect : codeTexts.publishDraftEffect;
}

/**
 * Returns the id of the revision with which to compare the revision `after`. This is the live
 * revision. If `after` is live, or no revision is live, it is the next older one or, without one,
 * `after`.
 */
function comparisonBase(revisions: readonly Revision[], after: string, live: string | undefined) {
  if (live !== undefined && live !== after) return live;
  const at = revisions.findIndex(({ versionId }) => versionId === after);
  return (revisions[at + 1] ?? revisions[at])?.versionId ?? after;
}

function Comparison(props: {
  revisions: readonly Revision[];
  numberOf: (revision: Revision) => string;
  pair: RevisionPair;
  onChange: (pair: RevisionPair) => void;
}) {
  const { revisions, numberOf, pair, onChange } = props;
  const { select } = fieldsOf(pair, (change) => onChange({ ...pair, ...change }));
  const revisionOf = (versionId: string) => revisions.find((it) => it.versionId === versionId);
  const [one, other] = [revisionOf(pair.before), revisionOf(pair.after)];
  const options = revisions.map((revision) => ({
    value: revision.versionId,
    text: [numberOf(revision), formatTime(revision.createdAt)].filter(Boolean).join(" · "),
  }));
  return (
    <Panel title={codeTexts.compare}>
      <div class="columns even">
        <SelectField label={commonTexts.from} options={options} {...select("before")} />
        <SelectField label={commonTexts.to} options={options} {...select("after")} />
      </div>
      {one && other && one.code === other.code && <p class="quiet">{codeTexts.noDifferences}</p>}
      {one && other && one.code !== other.code && (
        <Diff
          before={{ label: codeTexts.codeBefore, text: one.code }}
          after={{ label: codeTexts.codeAfter, text: other.code }}
          language={editorLanguage(other.language)}
        />
      )}
    </Panel>
  );
}

/**
 * Loads the names of members and tokens by their ids. Resolves with an empty map if the session
 * lacks the permission `workspace:admin`.
 */
async function loadAuthorNames(): Promise<Map<string, string>> {
  if (missingPermission("workspace:admin") !== undefined) return new Map();
  const [members, tokens] = await Promise.all([
    allPages(
      (page) => client.call("GET /v2/members", { query: { page } }),
      (answer) => answer.members,
    ),
    allPages(
      (page) => client.call("GET /v2/tokens", { query: { page } }),
      (answer) => answer.tokens,
    ),
  ]);
  return new Map([...tokens.items, ...members.items].map(({ id, name }) => [id, name]));
}
