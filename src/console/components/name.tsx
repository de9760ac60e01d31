import { marked } from "../format.ts";
import { hrefTo } from "../router.ts";

/**
 * Name that a user gave, on at most two lines, with the whole name on hover. Its direction affects
 * no text beside it. With `cut`, it is on one line, which ends in an ellipsis where it does not fit.
 */
export function Name({ children, cut }: { children: string | undefined; cut?: boolean }) {
  const name = children && marked(children);
  const shown = (
    <bdi class="given" title={name}>
      {name}
    </bdi>
  );
  return cut ? <span class="cut">{shown}</span> : shown;
}

/** Link to the page of an item. It shows the item's name. */
export function ItemLink(props: {
  /** Screen of the item's kind. */
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
