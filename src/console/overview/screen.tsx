import { Head, Panel } from "../parts/layout.tsx";
import { session } from "../session.ts";

/** What the workspace is, and who looks at it. */
export function Screen() {
  const who = session.value;
  return (
    <>
      <Head title="Overview" />
      <Panel title="Workspace">
        <dl class="facts">
          <dt>Name</dt>
          <dd>{who?.workspace.name}</dd>
          <dt>Permissions</dt>
          <dd>{who?.permissions.join(", ")}</dd>
        </dl>
      </Panel>
    </>
  );
}
