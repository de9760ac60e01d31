import { Badge, Loaded, ScreenHeader } from "../components/layout.tsx";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { MetricCharts } from "../metrics/metric-charts.tsx";
import { hrefTo, type ScreenProps } from "../router.ts";
import { RecentEvents } from "../tail/recent-events.tsx";
import { commonTexts } from "../texts/common.ts";
import { sourceTexts } from "../texts/sources.ts";
import { SourceList } from "./source-list.tsx";
import { SourcePage } from "./source-page.tsx";

export function Screen({ subpath: [id] }: ScreenProps) {
  if (id === undefined || id === "new") return <SourceList isNew={id === "new"} />;
  const permission = missingPermission("workspace:admin");
  if (permission !== undefined) return <SourceFigures key={id} id={id} permission={permission} />;
  return <SourcePage key={id} id={id} />;
}

const POLL_MS = 10_000;

/** Screen of one source for a session that may read its events but not its settings. */
function SourceFigures({ id, permission }: { id: string; permission: string }) {
  const resource = useResource(() => loadSource(id), [id], POLL_MS);
  const source = resource.value;
  return (
    <>
      <ScreenHeader
        title={isolated(source?.name ?? commonTexts.source)}
        parent={{ href: hrefTo("sources"), text: commonTexts.sources }}
        status={source && !source.enabled && <Badge>{commonTexts.disabled}</Badge>}
      />
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
