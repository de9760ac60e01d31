import { TextAreaField } from "./fields.tsx";

/** Field for a list of texts, one a line. `value` is the text as typed; `linesOf` returns the list. */
export function LinesField(props: {
  label: string;
  hint: string;
  value: string;
  onInput: (value: string) => void;
  /** JSON pointer of the list in the request. */
  path: string;
  errorAt: (path: string) => string | undefined;
}) {
  const { path, errorAt, ...shown } = props;
  const paths = [path, ...linesOf(props.value).map((_, index) => `${path}/${index}`)];
  const error = paths.map(errorAt).find((found) => found !== undefined);
  return <TextAreaField {...shown} optional code error={error} />;
}

/** Returns the lines of a text that are not blank. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "");
}
