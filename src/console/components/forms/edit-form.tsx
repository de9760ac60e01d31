import type { ComponentChildren } from "preact";
import { Button } from "../button.tsx";
import { ErrorNotice } from "../error-notice.tsx";
import { useSubmit } from "./use-submit.ts";

/** A form in a dialog: what it rejects with is shown, and it stays open then. */
export function EditForm(props: {
  children: ComponentChildren;
  action: string;
  onSubmit: () => Promise<unknown>;
  onCancel: () => void;
}) {
  const { children, action, onSubmit, onCancel } = props;
  const { submit, busy, error } = useSubmit(onSubmit);
  return (
    <form class="form" onSubmit={submit}>
      {children}
      <ErrorNotice error={error} />
      <div class="ends">
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="main" type="submit" needs="workspace:admin" busy={busy}>
          {action}
        </Button>
      </div>
    </form>
  );
}
