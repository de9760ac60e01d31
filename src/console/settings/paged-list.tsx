import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel } from "../components/layout.tsx";
import { Pagination, Table, type TableColumn } from "../components/table.tsx";
import { type Resource, useResource } from "../data/use-resource.ts";

const PAGE_ITEMS = 50;

interface Page<Item> {
  items: readonly Item[];
  total: number;
}

/** A list with pages and a dialog that adds to it: members, tokens, credentials. */
export function PagedList<Item extends { id: string }>(props: {
  title: string;
  load: (page: number) => Promise<Page<Item>>;
  columns: (changed: Resource<unknown>["reload"]) => readonly TableColumn<Item>[];
  empty: ComponentChildren;
  add: string;
  /** The form of a new one; `close` when it is done or given up. */
  form: (close: () => void, changed: Resource<unknown>["reload"]) => ComponentChildren;
}) {
  const { title, load, columns, empty, add, form } = props;
  const [page, setPage] = useState(1);
  const [isAdding, setAdding] = useState(false);
  const { value, error, reload } = useResource(() => load(page), [title, page]);
  const close = () => setAdding(false);
  return (
    <>
      <ErrorNotice error={error} retry={reload} />
      <Panel
        title={title}
        flush
        actions={
          <Button
            kind="main"
            icon="plus"
            compact
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
        <Pagination page={page} pageItems={PAGE_ITEMS} total={value?.total} onChange={setPage} />
      </Panel>
      {isAdding && (
        <Dialog title={add} onClose={close}>
          {form(close, reload)}
        </Dialog>
      )}
    </>
  );
}
