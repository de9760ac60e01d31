import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Permission } from "../../data/model.ts";
import { commonTexts } from "../../texts/common.ts";
import { Button } from "../button.tsx";
import { ErrorNotice, fieldError } from "../error-notice.tsx";
import { useSubmit } from "./use-submit.ts";

/**
 * Form with a submit button. When `onSubmit` rejects, the form keeps its values and shows each
 * error at its field, and below the fields those errors that belong to no field.
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
  /** Second button, which tests the values without saving them. */
  trial?: { action: string; run: () => Promise<unknown> };
  isNarrow?: boolean;
}) {
  const { children, action, needs = "workspace:admin", onSubmit, onCancel, isNarrow } = props;
  const { trial } = props;
  const { submit, run, busy, error, clearError } = useSubmit(onSubmit);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);
  /** Paths for which a field shows the error. The fields are rendered before the notice. */
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
        <Button kind="main" type="submit" needs={needs} busy={busy}>
          {action}
        </Button>
      </div>
    </form>
  );
}
