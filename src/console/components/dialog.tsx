import { effect, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Permission } from "../data/model.ts";
import { session } from "../data/session.ts";
import { isolated } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { ErrorNotice, ErrorText } from "./error-notice.tsx";
import { useSubmit } from "./forms/use-submit.ts";
import { Icon } from "./icon.tsx";
import { dismissToast, openDialogs, showToast, toasts } from "./toasts.ts";

/**
 * Hook that shows a dialog as modal while its component is rendered. Afterwards, gives the focus
 * back to the element that had it before or, if this element is gone, to the main content.
 */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    openDialogs.value = [...openDialogs.value, dialog];
    return () => {
      openDialogs.value = openDialogs.value.filter((it) => it !== dialog);
      // The browser gives no focus back when a dialog is removed while it is open. The
      // element that opened the dialog may be gone, such as the row of a deleted item.
      const next = opener?.isConnected ? opener : document.getElementById("main");
      if (document.activeElement === document.body && next instanceof HTMLElement) {
        next.focus({ preventScroll: true });
      }
    };
  }, []);
  return dialog;
}

/** Modal dialog. Escape, a click outside or the button in its corner closes it. */
export function Dialog(props: {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
  broad?: boolean;
}) {
  const { title, children, onClose, broad } = props;
  const dialog = useModal();
  const heading = useId();
  const pressed = useRef<EventTarget>(null);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class={broad ? "broad" : undefined}
      aria-labelledby={heading}
      onClose={onClose}
      onPointerDown={({ target }) => {
        pressed.current = target;
      }}
      onClick={({ target }) => {
        // A click that began inside, such as the end of a selection of text, closes nothing.
        if (target === dialog.current && target === pressed.current) dialog.current?.close();
      }}
    >
      <div class="inside">
        <h2 id={heading}>{title}</h2>
        {children}
      </div>
      {/* The button to close is last, so that the first control of the dialog gets the focus. */}
      <Button kind="plain" icon="close" label={commonTexts.close} onClick={onClose} />
      <ToastList dialog={dialog} />
    </dialog>
  );
}

interface ConfirmationRequest {
  title: string;
  text: ComponentChildren;
  /** Content of the dialog below `text`, such as a list of the items that the action affects. */
  details?: ComponentChildren;
  /** Label of the button that confirms the action. */
  action: string;
  /**
   * Whether the confirming button looks dangerous. The default is true. An action that deletes no
   * data passes false.
   */
  danger?: boolean;
  /**
   * Runs the action that the user has confirmed. The dialog closes when the promise resolves; if it
   * rejects, the dialog shows the error and stays open. The action may call `confirmAction`, whose
   * dialog replaces this one.
   */
  onConfirm: () => Promise<unknown>;
}

const pendingConfirmation = signal<ConfirmationRequest | undefined>(undefined);
// A dialog closes when the screen changes: the new screen does not show what it asks about.
addEventListener("hashchange", () => {
  pendingConfirmation.value = undefined;
});
// A dialog also closes when the session ends: the next session may be of another workspace.
effect(() => {
  if (!session.value) pendingConfirmation.value = undefined;
});

/** Opens a dialog that asks the user to confirm an action. */
export function confirmAction(request: ConfirmationRequest): void {
  pendingConfirmation.value = request;
}

/** Button that asks for confirmation before it runs an irreversible action. */
export function ConfirmButton(
  props: Omit<ButtonProps, "onClick" | "danger"> & ConfirmationRequest,
) {
  const { title, text, details, action, danger = true, onConfirm, ...button } = props;
  return (
    <Button
      {...button}
      danger={danger && button.kind !== "plain"}
      onClick={() => confirmAction({ title, text, details, action, danger, onConfirm })}
    />
  );
}

const { deletions } = commonTexts;

/**
 * Button that deletes one item after a confirmation. With `isIcon`, the button shows an icon
 * without text, such as in a table row.
 */
export function DeleteButton(props: {
  /** Action that the button's texts name, such as `revoke`. The default is `delete`. */
  verb?: keyof typeof deletions;
  /**
   * Word for the kind of item, such as `credential`. The confirming button shows it after the
   * label, as in `Delete credential`.
   */
  noun: string;
  /** Name of the item to delete. */
  name: string;
  consequence: string;
  needs?: Permission;
  remove: () => Promise<unknown>;
  isIcon?: boolean;
}) {
  const { verb = "delete", noun, name, consequence, needs = "workspace:admin" } = props;
  const { label, done } = deletions[verb];
  const look = props.isIcon
    ? { kind: "plain" as const, compact: true, label: `${label} ${name}` }
    : { children: label };
  return (
    <ConfirmButton
      {...look}
      icon="bin"
      needs={needs}
      title={`${label} ${isolated(name)}?`}
      text={consequence}
      action={`${label} ${noun}`.trim()}
      onConfirm={async () => {
        await props.remove();
        showToast(done(name));
      }}
    />
  );
}

/**
 * Shows the dialog that `confirmAction` asks for. The console contains this component only once.
 */
export function ConfirmationHost() {
  const request = pendingConfirmation.value;
  if (request === undefined) return null;
  const { text, details, onConfirm, ...dialog } = request;
  const close = () => {
    // The action may have asked for another confirmation.
    if (pendingConfirmation.value === request) pendingConfirmation.value = undefined;
  };

  async function confirm() {
    await onConfirm();
    close();
  }

  return (
    <ConfirmDialog key={request.title} {...dialog} onClose={close} onConfirm={confirm}>
      <p>{text}</p>
      {details}
    </ConfirmDialog>
  );
}

/**
 * Dialog with a button that calls `onConfirm`. If `onConfirm` rejects, the dialog shows the error.
 * The caller closes the dialog.
 */
export function ConfirmDialog(
  props: Parameters<typeof Dialog>[0] & {
    /** Label of the button that confirms the action. */
    action: string;
    danger?: boolean;
    onConfirm: () => Promise<unknown>;
  },
) {
  const { children, action, danger = false, onConfirm, ...dialog } = props;
  const { run, error } = useSubmit(onConfirm);
  return (
    <Dialog {...dialog}>
      {children}
      <ErrorNotice error={error} />
      <div class="ends">
        <Button onClick={dialog.onClose}>{commonTexts.cancel}</Button>
        <Button kind="main" danger={danger} onClick={() => run(onConfirm)}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}

/**
 * List of the toasts in `dialog`, or in the page if `dialog` is undefined. Only the list of the
 * topmost open dialog shows the toasts, or the page's list if no dialog is open.
 */
export function ToastList({ dialog }: { dialog?: object }) {
  const shown = openDialogs.value.at(-1) === dialog ? toasts.value : [];
  return (
    <section
      class="toasts"
      aria-live="polite"
      // Toasts in a dialog have no name: the page already has a landmark of this name.
      aria-label={dialog ? undefined : commonTexts.messages}
    >
      {shown.map((toast) => (
        <div class="toast" key={toast}>
          <span class={toast.error === undefined ? "good" : "bad"}>
            <Icon name={toast.error === undefined ? "check" : "alert"} />
          </span>
          <div>{toast.error === undefined ? toast.text : <ErrorText error={toast.error} />}</div>
          <Button
            kind="plain"
            compact
            icon="close"
            label={commonTexts.dismiss}
            onClick={() => dismissToast(toast)}
          />
        </div>
      ))}
    </section>
  );
}
