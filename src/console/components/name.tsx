import { marked } from "../format.ts";

/**
 * Name that a user gave, on at most two lines. Hovering it shows the whole name. The text direction
 * of the name does not affect the text beside it. With `cut`, the name is on one line, and ends in
 * an ellipsis if it does not fit.
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
