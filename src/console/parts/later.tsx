import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Fault } from "./fault.tsx";
import { Bone } from "./layout.tsx";

/** A part of a screen that is loaded when it is first shown. */
export function Later<Props extends object>(props: {
  load: () => Promise<ComponentType<Props>>;
  with: Props;
}) {
  const [loaded, setLoaded] = useState<{ Part: ComponentType<Props> }>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    props.load().then((Part) => setLoaded({ Part }), setError);
  }, []);
  if (error !== undefined) return <Fault error={error} retry={() => location.reload()} />;
  if (loaded === undefined) return <Bone />;
  const { Part } = loaded;
  return <Part {...props.with} />;
}
