import type { ComponentChildren } from "preact";
import type { LoadedResource } from "../data/use-resource.ts";
import { ErrorNotice } from "./error-notice.tsx";
import { Skeleton } from "./layout.tsx";

/**
 * Shows a fetched value. It shows a placeholder while the value is loading, and an error with a
 * button to retry after a failure.
 */
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
