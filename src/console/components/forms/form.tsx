import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Permission } from "../../data/model.ts";
import { commonTexts } from "../../texts/common.ts";
import { Button } from "../button.tsx";
import { ErrorNotice } from "../error-notice.tsx";
import { concerns, type FieldPath, FormErrors } from "./form-errors.ts";
import { FieldConflicts } from "./use-save.tsx";
import { useSubmit } from "./use-submit.ts";

/**
 * Form with a submit button. If `onSubmit` rejects, the form keeps its values, and each field with
 * a `path` shows the error that concerns it. Other errors are shown below the fields.
 */
export function Form(props: {
  children: ComponentChildren;
  /** Label of the submit button. */
  action: string;
  needs?: Permission | undefined;
  /** Reason why the form cannot be submitted yet. */
  disabledReason?: string | undefined;
  onSubmit: () => Promise<unknown>;
  onCancel?: () => void;
  /** Second button, such as one that tests the form's values without saving them. */
  trial?: { action: string; run: () => Promise<unknown> };
  /**
   * Fields that both this user and another user have changed, for the user to choose a value.
   * Undefined if there are none.
   */
  conflict?: Parameters<typeof FieldConflicts>[0] | undefined;
  /** Type of the item that the fields describe. When the type changes, the form drops its error. */
  itemType?: string;
  isNarrow?: boolean;
}) {
  const { children, action, needs = "workspace:admin", onSubmit, onCancel, isNarrow } = props;
  const { trial, disabledReason, conflict, itemType } = props;
  const { submit, run, busy, error, clearError } = useSubmit(onSubmit);
  const form = useRef<HTMLFormElement>(null);
  const fields = useSignal<readonly FieldPath[]>([]);
  const focusInvalid = () =>
    form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  useLayoutEffect(clearError, [itemType]);
  return (
    <form ref={form} class={isNarrow ? "form narrow" : "form"} onSubmit={submit}>
      <FormErrors.Provider value={{ error, fields, focusInvalid }}>{children}</FormErrors.Provider>
      {conflict && <FieldConflicts {...conflict} />}
      <ErrorNotice
        error={error}
        isShown={(path) => fields.value.some((field) => concerns(field, path))}
      />
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
