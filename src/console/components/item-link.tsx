import { type NamedKind, useNames } from "../data/use-names.ts";
import { hrefTo } from "../router.ts";
import { Name } from "./name.tsx";

/** Link to the page of an item. It shows the item's name. */
export function ItemLink(props: {
  /** Name of the screen for items of this kind: the first segment of the screen's routes. */
  screen: "sources" | "destinations" | "transformations" | "libraries";
  id: string;
  name: string | undefined;
  cut?: boolean;
}) {
  return (
    <a class={props.cut ? "cut" : undefined} href={hrefTo(props.screen, props.id)}>
      <Name>{props.name}</Name>
    </a>
  );
}

/** Link to the page of an item whose id is known. The id is shown until the name is loaded. */
export function NamedLink({ kind, id }: { kind: NamedKind; id: string }) {
  return <ItemLink screen={`${kind}s`} id={id} name={useNames()[kind](id)} />;
}

/** Name of an item whose id is known. The id is shown until the name is loaded. */
export function ItemName({ kind, id }: { kind: NamedKind; id: string }) {
  return <Name>{useNames()[kind](id)}</Name>;
}
