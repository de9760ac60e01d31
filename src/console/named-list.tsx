import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { matching } from "./every.ts";
import { useLoaded } from "./loaded.ts";
import { Button } from "./parts/button.tsx";
import { Fault } from "./parts/fault.tsx";
import type { IconName } from "./parts/icon.tsx";
import { Empty, Head, Panel } from "./parts/layout.tsx";
import { Search } from "./parts/search.tsx";
import { type Column, Pages, Table } from "./parts/table.tsx";
import { go, to } from "./router.ts";
import type { Permission } from "./session.ts";

const PAGE_ITEMS = 50;

/** A screen of all things of one kind: found by name or id, shown page by page. */
export function NamedList<Item extends { id: string; name: string }>(props: {
  /** First segment of the kind's places; that of a new thing is `new` behind it. */
  screen: string;
  title: string;
  one: string;
  icon: IconName;
  /** What making one takes. */
  create: Permission;
  load: () => Promise<readonly Item[]>;
  columns: readonly Column<Item>[];
  /** What such a thing is, for who has none yet. */
  children: ComponentChildren;
}) {
  const { screen, title, one, icon, create, load, columns, children } = props;
  const { value, error, reload } = useLoaded(load, [screen]);
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const found = matching(value, text);
  const button = (
    <Button kind="main" icon="plus" needs={create} onClick={() => go(to(screen, "new"))}>
      New {one}
    </Button>
  );
  return (
    <>
      <Head title={title}>{button}</Head>
      <Fault error={error} retry={reload} />
      <Panel flush>
        <header>
          <Search
            label={`Find a ${one}`}
            value={text}
            onInput={(typed) => {
              setText(typed);
              setPage(1);
            }}
          />
        </header>
        <Table
          label={title}
          columns={columns}
          rows={found?.slice((page - 1) * PAGE_ITEMS, page * PAGE_ITEMS)}
          keyOf={({ id }) => id}
          empty={
            text === "" ? (
              <Empty icon={icon} title={`No ${one} yet`} action={button}>
                {children}
              </Empty>
            ) : (
              <Empty icon="search" title={`No ${one} is called “${text}”`}>
                Try a part of the name, or the whole id.
              </Empty>
            )
          }
        />
        <Pages page={page} pageItems={PAGE_ITEMS} total={found?.length} onChange={setPage} />
      </Panel>
    </>
  );
}
