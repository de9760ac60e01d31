import type { ComponentChildren } from "preact";
import { count } from "../text.ts";
import { Button } from "./button.tsx";
import { Bone } from "./layout.tsx";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** `narrow` is as wide as its content, `number` also stands at the right. */
  kind?: "name" | "narrow" | "number" | "number narrow";
}

const BONES = 5;

/** Rows in columns; undefined rows are still asked for, and take their room already. */
export function Table<Row>(props: {
  /** What the table is of, for those who do not see it. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | undefined;
  keyOf: (row: Row) => string;
  /** Shown instead of a table without rows. */
  empty: ComponentChildren;
}) {
  const { label, columns, rows, keyOf, empty } = props;
  if (rows?.length === 0) return <>{empty}</>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
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
            ? Array.from({ length: BONES }, (_, index) => (
                <tr key={index}>
                  {columns.map(({ title }) => (
                    <td key={title}>
                      <Bone />
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

/** Below a table of more than one page. */
export function Pages(props: {
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
        {count(first)} to {count(last)} of {count(total)}
      </span>
      <span class="row">
        <Button
          tight
          icon="left"
          label="Page before"
          unless={page === 1 ? "This is the first page" : undefined}
          onClick={() => onChange(page - 1)}
        />
        <Button
          tight
          icon="right"
          label="Next page"
          unless={last === total ? "This is the last page" : undefined}
          onClick={() => onChange(page + 1)}
        />
      </span>
    </nav>
  );
}
