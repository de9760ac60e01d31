import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Permission } from "../data/model.ts";
import { missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { currentRoute, hrefTo, navigate, replaceQuery } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { Button } from "./button.tsx";
import { ErrorNotice } from "./error-notice.tsx";
import type { IconName } from "./icon.tsx";
import { ItemLink } from "./item-link.tsx";
import { Panel, ScreenHeader } from "./layout.tsx";
import { SearchField, useSearchedPages } from "./search-field.tsx";
import { type Column, column, Pagination, Table } from "./table.tsx";

const PAGE_ITEMS = 50;

export interface ListQuery {
  /** Number of the page, counted from 1. */
  page: number;
  /** Maximum number of items on a page. */
  count: number;
  /** Text that the user has typed to search: part of a name, or an id. Empty to list all items. */
  text: string;
  /** Field that determines the order, with `-` in front to reverse it. Absent for the default. */
  sort?: string;
}

export interface ListPage<Item> {
  items: readonly Item[];
  /** Number of items on all pages together. */
  total: number;
}

/** Screen that lists the items of one kind in pages, with a search by name or id. */
export function ListScreen<Item extends { id: string; name: string }>(props: {
  /** Name of the screen: the first segment of the screen's routes. */
  screen: string;
  title: string;
  singular: string;
  icon: IconName;
  /** Permission to create an item. Without it, the button for a new item is disabled. */
  createPermission: Permission;
  load: (query: ListQuery) => Promise<ListPage<Item>>;
  /**
   * Values other than the search text on which the list depends, such as the value of a filter.
   * When one of them changes, the first page is loaded.
   */
  inputs?: readonly unknown[];
  /** Milliseconds between two loads of the list. Absent if the list is not polled. */
  pollMs?: number;
  /**
   * Whether the user can sort the list with a click on a column's title. The server sorts it. The
   * default is true.
   */
  isSortable?: boolean;
  /** Controls next to the search field, such as a filter. */
  filters?: ComponentChildren;
  columns: readonly Column<Item>[];
  /** Text that explains this kind of item. It is shown while the list is empty. */
  children: ComponentChildren;
}) {
  const { screen, title, singular, icon, createPermission, load, columns, children } = props;
  const { inputs = [], pollMs, filters, isSortable = true } = props;
  const { text, page, setPage, search } = useSearchedPages();
  const sort = currentRoute.value.query.get("sort") ?? "";
  useEffect(() => setPage(1), [JSON.stringify([inputs, sort])]);
  const { value, error, reload } = useResource(
    () => load({ page, count: PAGE_ITEMS, text, ...(sort !== "" && { sort }) }),
    [screen, page, text, sort, ...inputs],
    pollMs,
  );
  const shown = useLatest(value);
  const button = (
    <Button
      kind="main"
      icon="plus"
      needs={createPermission}
      onClick={() => navigate(hrefTo(screen, "new"))}
    >
      {commonTexts.newItem(singular)}
    </Button>
  );
  return (
    <>
      <ScreenHeader title={title}>{button}</ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
      <Panel flush>
        <header>
          <SearchField label={commonTexts.searchIn(title)} {...search} />
          {filters}
        </header>
        <Table
          label={title}
          columns={columns}
          rows={shown?.items}
          keyOf={({ id }) => id}
          order={isSortable ? { sort, onSort: (next) => replaceQuery({ sort: next }) } : undefined}
          empty={
            text === "" && inputs.every((input) => input === "")
              ? { icon, title: commonTexts.noneYet(singular), text: children, action: button }
              : { icon: "search", ...commonTexts.noNameFound(text) }
          }
        />
        <Pagination page={page} pageItems={PAGE_ITEMS} total={shown?.total} onChange={setPage} />
      </Panel>
    </>
  );
}

/** Returns `value` or, while it is undefined because a page loads, its last defined value. */
export function useLatest<T>(value: T | undefined): T | undefined {
  const latest = useRef<T | undefined>(undefined);
  if (value !== undefined) latest.current = value;
  return latest.current;
}

/**
 * Returns the properties with which a `ListScreen` loads its items: with `load` if the session has
 * the permission `events:read`, otherwise with `loadPlain`, which cannot sort. A page of
 * `loadPlain` has twice `PAGE_ITEMS` items.
 */
export function permittedLoad<Item>(
  load: (query: ListQuery) => Promise<ListPage<Item>>,
  loadPlain: (query: { page: number; text: string }) => Promise<ListPage<Item>>,
) {
  if (missingPermission("events:read") === undefined) return { load };
  return {
    isSortable: false,
    // A page of `loadPlain` has twice as many items. So the result is one half of such a page.
    async load({ page, text }: ListQuery): Promise<ListPage<Item>> {
      const { items, total } = await loadPlain({ page: Math.ceil(page / 2), text });
      const first = ((page - 1) % 2) * PAGE_ITEMS;
      return { items: items.slice(first, first + PAGE_ITEMS), total };
    },
  };
}

/** Table column that shows the name of an item as a link to the item's page. */
export const itemColumn = (screen: "sources" | "destinations") =>
  column.name(
    commonTexts.name,
    (item: { id: string; name: string }) => (
      <ItemLink cut screen={screen} id={item.id} name={item.name} />
    ),
    "name",
  );
