import { marked } from "../format.ts";

/**
 * Name that a user gave, on at most two lines, with the whole name on hover. Its direction affects
 * no text beside it.
 */
export function Name({ children }: { children: string | undefined }) {
  const name = children && marked(children);
  return (
    <bdi class="given" title={name}>
      {name}
    </bdi>
  );
}
