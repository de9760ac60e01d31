import type { ComponentChildren } from "preact";
import type { Permission } from "../../data/model.ts";
import { Button } from "../button.tsx";
import { ErrorNotice, fieldError } from "../error-notice.tsx";
import { useSubmit } from "./use-submit.ts";

/**
 * Form with a submit button. When `onSubmit` rejects, the form keeps its values and shows the
 * error.
 */
export function Form(props: {
  children:
    | ComponentChildren
    | ((errorAt: (path: string) => string | undefined, clear: () => void) => ComponentChildren);
  /** Label of the submit button. */
  action: string;
  needs?: Permission | undefined;
  onSubmit: () => Promise<unknown>;
  onCancel?: () => void;
  isNarrow?: boolean;
}) {
  const { children, action, needs = "workspace:admin", onSubmit, onCancel, isNarrow } = props;
  const { submit, busy, error, clearError } = useSubmit(onSubmit);
  return (
    <form class={isNarrow ? "form narrow" : "form"} onSubmit={submit}>
      {typeof children === "function"
        ? children((path) => fieldError(error, path), clearError)
        : children}
      <ErrorNotice error={error} />
      <div class="ends">
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button kind="main" type="submit" needs={needs} busy={busy}>
          {action}
        </Button>
      </div>
    </form>
  );
}
