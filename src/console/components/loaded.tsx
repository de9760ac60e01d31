import type { ComponentChildren } from "preact";
import type { LoadedResource } from "../data/use-resource.ts";
import { ErrorNotice } from "./error-notice.tsx";
import { Skeleton } from "./layout.tsx";

/** Shows the value of a resource, a placeholder while it is loading, and its error with a retry. */
export function Loaded<T>(props: {
  resource: LoadedResource<T>;
  placeholder?: ComponentChildren;
  children: (value: T) => ComponentChildren;
}) {
  const { resource, placeholder = <Skeleton />, children } = props;
  const { value, error, reload } = resource;
  return (
    <>
      <ErrorNotice error={error} retry={reload} />
      {value === undefined ? error === undefined && placeholder : children(value)}
    </>
  );
}
