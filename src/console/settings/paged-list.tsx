import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { DeleteButton, Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { type EmptyText, Loaded, Panel } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { type Column, column, Pagination, Table } from "../components/table.tsx";
import type { Values } from "../data/save.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { commonTexts } from "../texts/common.ts";

export interface FormContext<Answer> {
  /** Answer with the item that the form edits. Undefined when the form creates an item. */
  answer: Answer | undefined;
  /** Value of the header `ETag` of `answer`: the version of the item that the form edits. */
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

/**
 * List of items in pages, with buttons to add and to delete items. The form for a new item, or for
 * an item to edit, is in a dialog.
 */
export function PagedList<
  Item extends { id: string; name: string },
  Page extends { paging: { total: number } },
  Answer,
>(props: {
  title: string;
  load: (page: number) => Promise<Page>;
  itemsOf: (answer: Page) => readonly Item[];
  columns: (edit: (item: Item) => void, reload: () => Promise<void>) => readonly Column<Item>[];
  empty: Omit<EmptyText, "icon">;
  add: string;
  Form: ComponentType<FormContext<Answer>>;
  /** Loads an item and its ETag for the form that edits it. Absent if items cannot be edited. */
  retrieve?: (params: { id: string }) => Promise<{ answer: Answer; tag: string | undefined }>;
  /** Verb in the texts of the delete button. The default is `delete`. */
  verb?: Parameters<typeof DeleteButton>[0]["verb"];
  noun: string;
  consequence: (item: Item) => string;
  /** Deletes an item. */
  remove: (params: { id: string }) => Promise<unknown>;
}) {
  const { title, load, itemsOf, columns, empty, add } = props;
  const { verb = "delete", noun, consequence, remove } = props;
  const [page, setPage] = useState(1);
  const [opened, setOpened] = useState<{ item?: Item }>();
  const { value, error, reload } = useResource(() => load(page), [title, page]);
  // A save may end after the user has opened another form, which must then stay open.
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
 * Form for one item. With `id`, the form edits the stored item with this id, and is shown once the
 * item is loaded. Without `id`, it creates an item.
 */
function LoadedForm<Answer>(
  props: Omit<FormContext<Answer>, "answer" | "tag"> & {
    id: string | undefined;
    Form: ComponentType<FormContext<Answer>>;
    retrieve?: (params: { id: string }) => Promise<{ answer: Answer; tag: string | undefined }>;
  },
) {
  const { id, Form, retrieve, close, reload } = props;
  const resource = useResource(
    async () => (id && (await retrieve?.({ id }))) || { answer: undefined, tag: undefined },
    [id],
  );
  return (
    <Loaded resource={resource}>
      {(loaded) => <Form {...loaded} close={close} reload={reload} />}
    </Loaded>
  );
}

/**
 * Returns the values of a stored item for its form: one for each key in `labels`. A value that the
 * item lacks is null.
 */
export const formValues = (item: object, labels: Record<string, string>): Values =>
  Object.fromEntries(Object.keys(labels).map((key) => [key, (item as Values)[key] ?? null]));
