import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadUntilDone } from "../data/retry.ts";
import { ErrorNotice } from "./error-notice.tsx";
import { SkeletonLine } from "./layout.tsx";

/** Loads a component's code when it is first shown, and shows a placeholder until then. */
export function Lazy<Props extends object>(props: {
  load: () => Promise<ComponentType<Props>>;
  with: Props;
}) {
  const [loaded, setLoaded] = useState<{ Part: ComponentType<Props> }>();
  const [error, setError] = useState<unknown>();
  useEffect(
    () => loadUntilDone(() => props.load().then((Part) => setLoaded({ Part })), setError),
    [],
  );
  if (error !== undefined) return <ErrorNotice error={error} retry={() => location.reload()} />;
  if (loaded === undefined) return <SkeletonLine />;
  const { Part } = loaded;
  return <Part {...props.with} />;
}
