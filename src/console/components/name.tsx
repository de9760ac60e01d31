import { marked } from "../format.ts";

/**
 * Name that a user gave, on at most two lines or, with `cut`, on one. Hovering shows the whole
 * name. Its text direction does not affect the text beside it.
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
