import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { filterByNameOrId } from "../data/list-all.ts";
import type { Permission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { Button } from "./button.tsx";
import { ErrorNotice } from "./error-notice.tsx";
import type { IconName } from "./icon.tsx";
import { EmptyState, Panel, ScreenHeader } from "./layout.tsx";
import { SearchField } from "./search-field.tsx";
import { Pagination, Table, type TableColumn } from "./table.tsx";

const PAGE_ITEMS = 50;

/** A screen of all things of one kind: found by name or id, shown page by page. */
export function ListScreen<Item extends { id: string; name: string }>(props: {
  /** First segment of the kind's places; that of a new thing is `new` behind it. */
  screen: string;
  title: string;
  singular: string;
  icon: IconName;
  /** What making one takes. */
  createPermission: Permission;
  load: () => Promise<readonly Item[]>;
  columns: readonly TableColumn<Item>[];
  /** What such a thing is, for who has none yet. */
  children: ComponentChildren;
}) {
  const { screen, title, singular, icon, createPermission, load, columns, children } = props;
  const { value, error, reload } = useResource(load, [screen]);
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const found = filterByNameOrId(value, text);
  const button = (
    <Button
      kind="main"
      icon="plus"
      needs={createPermission}
      onClick={() => navigate(hrefTo(screen, "new"))}
    >
      New {singular}
    </Button>
  );
  return (
    <>
      <ScreenHeader title={title}>{button}</ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
      <Panel flush>
        <header>
          <SearchField
            label={`Find a ${singular}`}
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
              <EmptyState icon={icon} title={`No ${singular} yet`} action={button}>
                {children}
              </EmptyState>
            ) : (
              <EmptyState icon="search" title={`No ${singular} is called “${text}”`}>
                Try a part of the name, or the whole id.
              </EmptyState>
            )
          }
        />
        <Pagination page={page} pageItems={PAGE_ITEMS} total={found?.length} onChange={setPage} />
      </Panel>
    </>
  );
}
