import { Component, type ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { PAGE_ITEMS_MAX } from "../../settings/limits.ts";
import { commonTexts } from "../texts/common.ts";
import { Button } from "./button.tsx";
import { ErrorNotice } from "./error-notice.tsx";
import { EmptyState, type EmptyText, Panel, SkeletonLine } from "./layout.tsx";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /**
   * Layout of the column:
   * - `name`: names of the rows' items.
   * - `narrow`: as wide as its content.
   * - `number`: aligned right.
   * - `wide`: has the card's whole width on a phone, where each row is a card.
   */
  kind?: "name" | "wide" | "narrow" | "number" | "number narrow";
  /**
   * Name by which the table's `order` refers to this column, such as `name`. Absent if the rows
   * cannot be sorted by this column.
   */
  sort?: string | undefined;
}

/** Returns a function that makes columns with the given layout (`kind`). */
const columnOf =
  (look: Pick<Column<unknown>, "kind"> = {}) =>
  <Row,>(title: string, cell: Column<Row>["cell"], sort?: string): Column<Row> => ({
    title,
    cell,
    sort,
    ...look,
  });

/** Functions that make columns. Each is named after the layout of the columns that it makes. */
export const column = {
  plain: columnOf(),
  name: columnOf({ kind: "name" }),
  narrow: columnOf({ kind: "narrow" }),
  wide: columnOf({ kind: "wide" }),
  number: columnOf({ kind: "number narrow" }),
  /** Makes a column of numbers that, unlike one of `number`, may be wider than its content. */
  wideNumber: columnOf({ kind: "number" }),
};

/**
 * Order of a table's rows. `sort` names the column to sort by, such as `name`. A `-` before the
 * name means the reverse order. An empty `sort` is the default order.
 */
interface TableOrder {
  sort: string;
  onSort: (sort: string) => void;
}

const SKELETON_ROWS = 5;

interface TableProps<Row> {
  /** Name of the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | undefined;
  keyOf: (row: Row) => string;
  /**
   * Current order of the rows, with a callback that changes it. Absent if the user cannot sort the
   * table.
   */
  order?: TableOrder | undefined;
  /** Notice in place of the table if it has no rows. Absent if the table always has rows. */
  empty?: EmptyText;
}

/** Table with one row per item. It shows placeholders while `rows` is undefined. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, empty, order } = props;
  if (rows?.length === 0) return empty ? <EmptyState {...empty} /> : null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs keyboard focus
    <section class="table" aria-label={label} tabIndex={0} aria-busy={rows === undefined}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <ColumnHeader key={column.title} column={column} order={order} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined
            ? Array.from({ length: SKELETON_ROWS }, (_, index) => (
                <tr key={index}>
                  {columns.map(({ title }) => (
                    <td key={title} data-title={title}>
                      <SkeletonLine />
                    </td>
                  ))}
                </tr>
              ))
            : rows.map((row) => <TableRow key={keyOf(row)} columns={columns} row={row} />)}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps<Row> {
  columns: readonly Column<Row>[];
  row: Row;
}

/**
 * Row of a table. It is rendered again only when its item or the columns change. Otherwise, each
 * update of a busy live tail would render all 200 rows of the table.
 */
class TableRow<Row> extends Component<RowProps<Row>> {
  override shouldComponentUpdate(next: Readonly<RowProps<Row>>, state: unknown): boolean {
    const { columns, row } = this.props;
    // A signal that a cell has read changes the state.
    return next.row !== row || next.columns !== columns || state !== this.state;
  }

  override render({ columns, row }: RowProps<Row>) {
    return (
      <tr>
        {columns.map(({ title, cell, kind }) => (
          <td key={title} class={kind} data-title={title}>
            {cell(row)}
          </td>
        ))}
      </tr>
    );
  }
}

/** Panel with a table of loaded rows, or with the error if they cannot be loaded. */
export function TablePanel<Row>(
  props: TableProps<Row> & {
    error: unknown;
    retry: () => unknown;
    /** Content below the table, such as a button for further rows. */
    children?: ComponentChildren;
  },
) {
  const { error, retry, children, ...table } = props;
  return (
    <>
      <ErrorNotice error={error} retry={retry} />
      {(table.rows !== undefined || error === undefined) && (
        <Panel flush>
          <Table {...table} />
          {children}
        </Panel>
      )}
    </>
  );
}

/** Line below a table: a text and, unless all rows are loaded, a button that loads older ones. */
export function OlderRows(props: {
  text: ComponentChildren;
  isComplete: boolean;
  loadOlder: () => Promise<void>;
}) {
  return (
    <p class="pages">
      <span>{props.text}</span>
      {!props.isComplete && (
        <Button compact onClick={props.loadOlder}>
          {commonTexts.loadOlder}
        </Button>
      )}
    </p>
  );
}

function ColumnHeader<Row>(props: { column: Column<Row>; order: TableOrder | undefined }) {
  const { column, order } = props;
  const { title, kind = "", sort } = column;
  if (sort === undefined || order === undefined) {
    return (
      <th scope="col" class={kind}>
        {title || <span class="unseen">{commonTexts.actions}</span>}
      </th>
    );
  }
  const isUp = order.sort === sort;
  const isDown = order.sort === `-${sort}`;
  // Users look for the largest number more often than for the smallest.
  const first = kind.startsWith("number") ? `-${sort}` : sort;
  const other = first === sort ? `-${sort}` : sort;
  return (
    <th
      scope="col"
      class={`${kind} sortable`}
      aria-sort={isUp ? "ascending" : isDown ? "descending" : "none"}
    >
      <button
        type="button"
        class="sort"
        onClick={() =>
          order.onSort(order.sort === first ? other : order.sort === other ? "" : first)
        }
      >
        {title}
      </button>
    </th>
  );
}

/**
 * Page numbers and buttons below a table. Shows nothing if all rows fit on one page. Opens the last
 * page if the list has become so short that `page` does not exist.
 */
export function Pagination(props: {
  page: number;
  pageItems?: number;
  total: number | undefined;
  onChange: (page: number) => void;
}) {
  const { page, pageItems = PAGE_ITEMS_MAX, total, onChange } = props;
  const lastPage = total === undefined ? page : Math.max(1, Math.ceil(total / pageItems));
  useEffect(() => {
    if (page > lastPage) onChange(lastPage);
  }, [page, lastPage]);
  if (total === undefined || (total <= pageItems && page === 1)) return null;
  const first = (page - 1) * pageItems + 1;
  const last = Math.min(total, page * pageItems);
  return (
    <nav class="pages" aria-label={commonTexts.pages}>
      <span class="tabular">{commonTexts.range(first, last, total)}</span>
      <PageButtons
        isFirst={page === 1}
        isLast={last === total}
        onPrevious={() => onChange(page - 1)}
        onNext={() => onChange(page + 1)}
      />
    </nav>
  );
}

export function PageButtons(props: {
  isFirst: boolean;
  isLast: boolean;
  onPrevious: () => void;
  onNext: () => void;
}) {
  const { isFirst, isLast, onPrevious, onNext } = props;
  return (
    <span class="row">
      <Button
        compact
        icon="left"
        label={commonTexts.previousPage}
        disabledReason={isFirst ? commonTexts.isFirstPage : undefined}
        onClick={onPrevious}
      />
      <Button
        compact
        icon="right"
        label={commonTexts.nextPage}
        disabledReason={isLast ? commonTexts.isLastPage : undefined}
        onClick={onNext}
      />
    </span>
  );
}
