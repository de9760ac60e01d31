import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SelectField } from "../components/forms/fields.tsx";
import { Badge, Panel } from "../components/layout.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { Diff } from "../editor/diff.tsx";
import { type CodeContext, editorLanguage, type Revision } from "./code-kind.ts";

const REVISIONS_MAX = 100;

/**
 * List of revisions with their authors. The user can compare any two revisions, and publish an
 * earlier one again.
 */
export function RevisionHistory({ kind, newest, published, reload }: CodeContext) {
  const load = () => Promise.all([kind.listRevisions(newest.id, REVISIONS_MAX), loadAuthorNames()]);
  const loaded = useResource(load, [newest.id, newest.versionId, published?.versionId]);
  const [revisions, names] = loaded.value ?? [];
  const live = published?.versionId;
  const [pair, setPair] = useState<{ before?: string; after?: string }>({});
  const after = pair.after ?? newest.versionId;
  const before = pair.before ?? comparisonBase(revisions ?? [], after, live);

  async function publish({ versionId }: Revision) {
    const { warnings = [] } = await kind.publish(versionId);
    showToast(["Live from the next batch", ...warnings].join(". "));
    await Promise.all([reload(), loaded.reload()]);
  }

  return (
    <>
      <ErrorNotice error={loaded.error} retry={loaded.reload} />
      <Panel title="Revisions" flush>
        <Table
          label="Revisions"
          rows={revisions}
          keyOf={({ versionId }) => versionId}
          columns={[
            {
              title: "Created",
              cell: ({ createdAt, versionId }) => (
                <span class="row">
                  <Time at={createdAt} />
                  {versionId === live && <Badge tone="good">Live</Badge>}
                  {versionId === newest.versionId && <Badge flat>Newest</Badge>}
                </span>
              ),
            },
            {
              title: "By",
              cell: ({ createdBy }) => (createdBy && names?.get(createdBy)) ?? createdBy ?? "",
            },
            {
              title: "",
              kind: "narrow",
              cell: (revision) => (
                <span class="row fixed">
                  <Button
                    compact
                    kind="plain"
                    pressed={revision.versionId === after}
                    onClick={() => setPair({ after: revision.versionId })}
                  >
                    Compare
                  </Button>
                  <Button
                    compact
                    needs={kind.editPermission}
                    disabledReason={
                      revision.versionId === live ? "This revision is live" : undefined
                    }
                    onClick={() => publish(revision)}
                  >
                    {live !== undefined && revision.versionId < live ? "Roll back" : "Publish"}
                  </Button>
                </span>
              ),
            },
          ]}
          empty={<p class="inside quiet">No revisions.</p>}
        />
      </Panel>
      {revisions && revisions.length > 1 && (
        <Comparison
          revisions={revisions}
          before={before}
          after={after}
          onChange={(change) => setPair({ before, after, ...change })}
        />
      )}
    </>
  );
}

/**
 * Returns the id of the revision with which `after` is compared: the published revision, or the
 * previous one when `after` itself is published.
 */
function comparisonBase(revisions: readonly Revision[], after: string, live: string | undefined) {
  if (live !== undefined && live !== after) return live;
  const at = revisions.findIndex(({ versionId }) => versionId === after);
  return (revisions[at + 1] ?? revisions[at])?.versionId ?? after;
}

function Comparison(props: {
  revisions: readonly Revision[];
  before: string;
  after: string;
  onChange: (change: { before?: string; after?: string }) => void;
}) {
  const { revisions, before, after, onChange } = props;
  const revisionOf = (versionId: string) => revisions.find((it) => it.versionId === versionId);
  const [one, other] = [revisionOf(before), revisionOf(after)];
  const options = revisions.map(({ versionId, createdAt }, at) => ({
    value: versionId,
    text: `${revisions.length - at} · ${new Date(createdAt).toLocaleString()}`,
  }));
  return (
    <Panel title="Compare">
      <div class="columns even">
        <SelectField
          label="From"
          value={before}
          options={options}
          onChange={(it) => onChange({ before: it })}
        />
        <SelectField
          label="To"
          value={after}
          options={options}
          onChange={(it) => onChange({ after: it })}
        />
      </div>
      {one && other && one.code === other.code && <p class="quiet">No differences.</p>}
      {one && other && one.code !== other.code && (
        <Diff
          before={{ label: "Code before", text: one.code }}
          after={{ label: "Code after", text: other.code }}
          language={editorLanguage(other.language)}
        />
      )}
    </Panel>
  );
}

/**
 * Loads the names of members and tokens by their ids. The map is empty when the session lacks the
 * permission `workspace:admin`.
 */
async function loadAuthorNames(): Promise<Map<string, string>> {
  if (missingPermission("workspace:admin") !== undefined) return new Map();
  const [{ members }, { tokens }] = await Promise.all([
    client.call("GET /v2/members"),
    client.call("GET /v2/tokens"),
  ]);
  return new Map([...tokens, ...members].map(({ id, name }) => [id, name]));
}
