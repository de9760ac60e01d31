import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Loaded, useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { Panel } from "../parts/layout.tsx";
import { type Column, Pages, Table } from "../parts/table.tsx";

const PAGE_ITEMS = 50;

interface Page<Item> {
  items: readonly Item[];
  total: number;
}

/** A list with pages and a dialog that adds to it: members, tokens, credentials. */
export function Listed<Item extends { id: string }>(props: {
  title: string;
  load: (page: number) => Promise<Page<Item>>;
  columns: (changed: Loaded<unknown>["reload"]) => readonly Column<Item>[];
  empty: ComponentChildren;
  add: string;
  /** The form of a new one; `close` when it is done or given up. */
  form: (close: () => void, changed: Loaded<unknown>["reload"]) => ComponentChildren;
}) {
  const { title, load, columns, empty, add, form } = props;
  const [page, setPage] = useState(1);
  const [isAdding, setAdding] = useState(false);
  const { value, error, reload } = useLoaded(() => load(page), [title, page]);
  const close = () => setAdding(false);
  return (
    <>
      <Fault error={error} retry={reload} />
      <Panel
        title={title}
        flush
        actions={
          <Button
            kind="main"
            icon="plus"
            tight
            needs="workspace:admin"
            onClick={() => setAdding(true)}
          >
            {add}
          </Button>
        }
      >
        <Table
          label={title}
          columns={columns(reload)}
          rows={value?.items}
          keyOf={({ id }) => id}
          empty={empty}
        />
        <Pages page={page} pageItems={PAGE_ITEMS} total={value?.total} onChange={setPage} />
      </Panel>
      {isAdding && (
        <Dialog title={add} onClose={close}>
          {form(close, reload)}
        </Dialog>
      )}
    </>
  );
}
