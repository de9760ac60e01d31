import type { ComponentChildren } from "preact";
import { formatCount } from "../format.ts";
import { Button } from "./button.tsx";
import { SkeletonLine } from "./layout.tsx";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /**
   * Layout of the column. `narrow` makes it as wide as its content, and `number` aligns it right.
   */
  kind?: "name" | "narrow" | "number" | "number narrow";
}

const SKELETON_ROWS = 5;

/** Table with one row per item. It shows placeholders while `rows` is undefined. */
export function Table<Row>(props: {
  /** Name of the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | undefined;
  keyOf: (row: Row) => string;
  /** Content shown in place of the table when the table has no rows. */
  empty: ComponentChildren;
}) {
  const { label, columns, rows, keyOf, empty } = props;
  if (rows?.length === 0) return <>{empty}</>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs keyboard focus
    <section class="table" aria-label={label} tabIndex={0} aria-busy={rows === undefined}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, kind }) => (
              <th key={title} scope="col" class={kind}>
                {title || <span class="unseen">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined
            ? Array.from({ length: SKELETON_ROWS }, (_, index) => (
                <tr key={index}>
                  {columns.map(({ title }) => (
                    <td key={title}>
                      <SkeletonLine />
                    </td>
                  ))}
                </tr>
              ))
            : rows.map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map(({ title, cell, kind }) => (
                    <td key={title} class={kind}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
              ))}
        </tbody>
      </table>
    </section>
  );
}

/** Page numbers and buttons below a table. Nothing is shown when there is only one page. */
export function Pagination(props: {
  page: number;
  pageItems: number;
  total: number | undefined;
  onChange: (page: number) => void;
}) {
  const { page, pageItems, total, onChange } = props;
  if (total === undefined || (total <= pageItems && page === 1)) return null;
  const first = (page - 1) * pageItems + 1;
  const last = Math.min(total, page * pageItems);
  return (
    <nav class="pages" aria-label="Pages">
      <span class="tabular">
        {formatCount(first)} to {formatCount(last)} of {formatCount(total)}
      </span>
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
        label="Previous page"
        disabledReason={isFirst ? "This is the first page" : undefined}
        onClick={onPrevious}
      />
      <Button
        compact
        icon="right"
        label="Next page"
        disabledReason={isLast ? "This is the last page" : undefined}
        onClick={onNext}
      />
    </span>
  );
}
