import { useLoaded } from "../loaded.ts";
import { AskingButton } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { Later } from "../parts/later.tsx";
import { Badge, Bone, Empty, Head, Panel, Tabs } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import { go, to } from "../router.ts";
import { type Kind, languageName, libraries, type Opened } from "./kinds.ts";
import { Links } from "./links.tsx";
import { State } from "./list.tsx";
import { forget } from "./unsaved.ts";

/** One transformation, or one library: its code, its past, its destinations. */
export function CodePage(props: { kind: Kind; id: string; query: URLSearchParams }) {
  const { kind, id, query } = props;
  const tab = query.get("tab") ?? "code";
  const line = Number(query.get("line") ?? Number.NaN);
  const { value, error, reload } = useLoaded(() => open(kind, id), [kind.screen, id]);
  const way = { href: to(kind.screen), text: kind.title };
  if (value === undefined) {
    return (
      <>
        <Head title={kind.one} way={way} />
        {error === undefined ? (
          <Panel>
            <Bone />
          </Panel>
        ) : (
          <Fault error={error} retry={reload} />
        )}
      </>
    );
  }
  if (value.newest === undefined) {
    return (
      <Empty
        icon="search"
        title={`There is no such ${kind.one}`}
        action={<a href={way.href}>All</a>}
      >
        It may be of another workspace, or the address is misspelt.
      </Empty>
    );
  }
  const opened: Opened = { kind, newest: value.newest, published: value.published, reload };
  if (Number.isInteger(line)) opened.at = line;
  return <Page opened={opened} tab={tab} way={way} />;
}

async function open(kind: Kind, id: string) {
  const [[newest], published] = await Promise.all([kind.revisions(id, 1), kind.published(id)]);
  return { newest, published };
}

function Page(props: { opened: Opened; tab: string; way: { href: string; text: string } }) {
  const { opened, tab, way } = props;
  const { kind, newest, published } = opened;
  const isBehind = published !== undefined && published.versionId !== newest.versionId;
  const tabs = [
    { name: "code", text: "Code" },
    { name: "history", text: "History" },
    ...(kind === libraries ? [] : [{ name: "destinations", text: "Destinations" }]),
  ];
  return (
    <>
      <Head
        title={newest.name}
        way={way}
        beside={
          <>
            <State isPublished={published !== undefined} />
            {isBehind && <Badge tone="warn">Newer draft</Badge>}
            <Badge flat>{languageName(newest.language)}</Badge>
          </>
        }
      >
        <AskingButton kind="plain" icon="bin" needs={kind.create} {...removalOf(opened)}>
          Delete
        </AskingButton>
      </Head>
      {newest.description && <p class="quiet">{newest.description}</p>}
      <Tabs
        tabs={tabs.map(({ name, text }) => ({
          href: to(kind.screen, newest.id, { tab: name === "code" ? undefined : name }),
          text,
          current: name === tab,
        }))}
      />
      {tab === "code" && <Later load={workbench} with={opened} />}
      {tab === "history" && <Later load={past} with={opened} />}
      {tab === "destinations" && <Links {...opened} />}
    </>
  );
}

const workbench = async () => (await import("./workbench.tsx")).Workbench;
const past = async () => (await import("./history.tsx")).History;

function removalOf({ kind, newest }: Opened) {
  return {
    title: `Delete ${newest.name}?`,
    text:
      kind === libraries
        ? "What imports it can no longer be published. Its revisions are kept, and publishing one restores it."
        : "Its destinations get their events unchanged from then on. Its revisions are kept, and publishing one restores it.",
    action: "Delete",
    async onConfirm() {
      await kind.remove(newest.id);
      forget(`code ${newest.id}`);
      tell(`${newest.name} is deleted`);
      go(to(kind.screen));
    },
  };
}
