import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { DeleteButton, Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { type EmptyText, Loaded, Panel } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { type Column, column, Pagination, Table } from "../components/table.tsx";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { commonTexts } from "../texts/common.ts";

export interface FormContext<Item> {
  /** The item that the form edits. Undefined when the form creates an item. */
  item: Item | undefined;
  /** Header ETag of the item. */
  tag: string | undefined;
  close: () => void;
  reload: () => Promise<void>;
}

/** Returns the column of item names. Each name is a button that opens the form to edit the item. */
export const editColumn = <Item extends { name: string }>(edit: (item: Item) => void) =>
  column.name(commonTexts.name, (item: Item) => (
    <button type="button" class="link cut" onClick={() => edit(item)}>
      <Name>{item.name}</Name>
    </button>
  ));

/** List in pages, with a dialog that adds or edits an item, and a button that deletes one. */
export function PagedList<
  Item extends { id: string; name: string },
  Answer extends { paging: { total: number } },
>(props: {
  title: string;
  load: (page: number) => Promise<Answer>;
  itemsOf: (answer: Answer) => readonly Item[];
  columns: (edit: (item: Item) => void, reload: () => Promise<void>) => readonly Column<Item>[];
  empty: Omit<EmptyText, "icon">;
  add: string;
  form: (context: FormContext<Item>) => ComponentChildren;
  /** Loads an item and its ETag for the form that edits it. Absent if items cannot be edited. */
  retrieve?: (params: { id: string }) => Promise<{ item: Item; tag: string | undefined }>;
  deletion: {
    verb?: "delete" | "remove" | "revoke";
    noun: string;
    consequence: (item: Item) => string;
    remove: (params: { id: string }) => Promise<unknown>;
  };
}) {
  const { title, load, itemsOf, columns, empty, add, deletion } = props;
  const { verb = "delete", noun, consequence, remove } = deletion;
  const [page, setPage] = useState(1);
  const [opened, setOpened] = useState<{ item?: Item }>();
  const { value, error, reload } = useResource(() => load(page), [title, page]);
  // A form that is saved later than the user has opened another one closes only itself.
  const close = () => setOpened((shown) => (shown === opened ? undefined : shown));
  const deleteColumn: Column<Item> = column.narrow("", (item) => (
    <DeleteButton
      isIcon
      verb={verb}
      noun={noun}
      name={item.name}
      consequence={consequence(item)}
      remove={async () => {
        await remove({ id: item.id });
        await reload();
      }}
    />
  ));
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
            onClick={() => setOpened({})}
          >
            {add}
          </Button>
        }
      >
        <Table
          label={title}
          columns={[...columns((item) => setOpened({ item }), reload), deleteColumn]}
          rows={value && itemsOf(value)}
          keyOf={({ id }) => id}
          empty={{ icon: "settings", ...empty }}
        />
        <Pagination page={page} total={value?.paging.total} onChange={setPage} />
      </Panel>
      {opened && (
        <Dialog title={isolated(opened.item?.name ?? add)} onClose={close}>
          <LoadedForm {...props} id={opened.item?.id} close={close} reload={reload} />
        </Dialog>
      )}
    </>
  );
}

/**
 * Form for one item. With `id`, it shows the stored item once this is loaded. Without `id`, it
 * creates an item.
 */
function LoadedForm<Item>(
  props: Omit<FormContext<Item>, "item" | "tag"> & {
    id: string | undefined;
    form: (context: FormContext<Item>) => ComponentChildren;
    retrieve?: (params: { id: string }) => Promise<{ item: Item; tag: string | undefined }>;
  },
) {
  const { id, form, retrieve, close, reload } = props;
  const resource = useResource(
    async () => (id && (await retrieve?.({ id }))) || { item: undefined, tag: undefined },
    [id],
  );
  return <Loaded resource={resource}>{(loaded) => form({ ...loaded, close, reload })}</Loaded>;
}
