import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Permission } from "../../data/model.ts";
import { commonTexts } from "../../texts/common.ts";
import { Button } from "../button.tsx";
import { ErrorNotice, fieldError } from "../error-notice.tsx";
import { useSubmit } from "./use-submit.ts";

/**
 * Form with a submit button. If `onSubmit` rejects, the form keeps its values and shows each error
 * at the field that it concerns. Errors that concern no field are shown below the fields.
 */
export function Form(props: {
  children:
    | ComponentChildren
    | ((errorAt: (path: string) => string | undefined, clear: () => void) => ComponentChildren);
  /** Label of the submit button. */
  action: string;
  needs?: Permission | undefined;
  /** Reason why the form cannot be submitted yet. */
  disabledReason?: string | undefined;
  onSubmit: () => Promise<unknown>;
  onCancel?: () => void;
  /** Second button, such as one that tests the form's values without saving them. */
  trial?: { action: string; run: () => Promise<unknown> };
  isNarrow?: boolean;
}) {
  const { children, action, needs = "workspace:admin", onSubmit, onCancel, isNarrow } = props;
  const { trial, disabledReason } = props;
  const { submit, run, busy, error, clearError } = useSubmit(onSubmit);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);
  /** Paths of error details that fields show. The `ErrorNotice`, rendered later, omits them. */
  const shownPaths = new Set<string>();
  const errorAt = (path: string) => {
    shownPaths.add(path);
    return fieldError(error, path);
  };
  return (
    <form ref={form} class={isNarrow ? "form narrow" : "form"} onSubmit={submit}>
      {typeof children === "function" ? children(errorAt, clearError) : children}
      <ErrorNotice error={error} shownPaths={shownPaths} />
      <div class="ends">
        {onCancel && <Button onClick={onCancel}>{commonTexts.cancel}</Button>}
        {trial && (
          <Button icon="play" needs={needs} onClick={() => run(trial.run)}>
            {trial.action}
          </Button>
        )}
        <Button kind="main" type="submit" needs={needs} disabledReason={disabledReason} busy={busy}>
          {action}
        </Button>
      </div>
    </form>
  );
}
