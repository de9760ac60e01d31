import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Permission } from "../data/model.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { Button } from "./button.tsx";
import { ErrorNotice } from "./error-notice.tsx";
import type { IconName } from "./icon.tsx";
import { EmptyState, Panel, ScreenHeader } from "./layout.tsx";
import { SearchField } from "./search-field.tsx";
import { type Column, Pagination, Table } from "./table.tsx";

const PAGE_ITEMS = 50;

/** Screen that lists all items of one kind, with a search by name or id. */
export function ListScreen<Item extends { id: string; name: string }>(props: {
  /** Name of the screen, which is the first segment of its routes. */
  screen: string;
  title: string;
  singular: string;
  icon: IconName;
  /** Permission that the button for a new item requires. */
  createPermission: Permission;
  load: () => Promise<readonly Item[]>;
  columns: readonly Column<Item>[];
  /** Text that explains this kind of item. It is shown while the list is empty. */
  children: ComponentChildren;
}) {
  const { screen, title, singular, icon, createPermission, load, columns, children } = props;
  const { value, error, reload } = useResource(load, [screen]);
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const matches = value && filterByNameOrId(value, text);
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
            label={`Search ${title.toLowerCase()}`}
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
          rows={matches?.slice((page - 1) * PAGE_ITEMS, page * PAGE_ITEMS)}
          keyOf={({ id }) => id}
          empty={
            text === "" ? (
              <EmptyState icon={icon} title={`No ${singular} yet`} action={button}>
                {children}
              </EmptyState>
            ) : (
              <EmptyState icon="search" title={`No results for “${text}”`}>
                Enter a part of the name or the whole id.
              </EmptyState>
            )
          }
        />
        <Pagination page={page} pageItems={PAGE_ITEMS} total={matches?.length} onChange={setPage} />
      </Panel>
    </>
  );
}

function filterByNameOrId<Item extends { id: string; name: string }>(
  items: readonly Item[],
  text: string,
): readonly Item[] {
  const lowerCase = text.trim().toLowerCase();
  return items.filter(
    ({ id, name }) => name.toLowerCase().includes(lowerCase) || id === text.trim(),
  );
}

/** Table column with the item's name as a link to its page. */
export const nameColumn = (screen: string) => ({
  title: "Name",
  kind: "name" as const,
  cell: ({ id, name }: { id: string; name: string }) => (
    <a class="cut" href={hrefTo(screen, id)}>
      {name}
    </a>
  ),
});
