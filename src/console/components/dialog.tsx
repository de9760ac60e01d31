import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Permission } from "../data/model.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { ErrorNotice } from "./error-notice.tsx";
import { showToast } from "./toasts.ts";

/** Modal dialog. Escape or a click outside closes it. */
export function Dialog(props: {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
  broad?: boolean;
}) {
  const { title, children, onClose, broad } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class={broad ? "broad" : undefined}
      aria-labelledby={heading}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="inside">
        <h2 id={heading}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmationRequest {
  title: string;
  text: ComponentChildren;
  /** Label of the button that confirms the action. */
  action: string;
  /**
   * Whether the confirming button is styled as dangerous (default true). An action that deletes no
   * data passes false.
   */
  danger?: boolean;
  /**
   * Called when the user confirms. The dialog stays open until the promise resolves. If the promise
   * rejects, the dialog shows the error.
   */
  onConfirm: () => Promise<unknown>;
}

const pendingConfirmation = signal<ConfirmationRequest | undefined>(undefined);

/** Button that asks for confirmation before it runs an irreversible action. */
export function ConfirmButton(
  props: Omit<ButtonProps, "onClick" | "danger"> & ConfirmationRequest,
) {
  const { title, text, action, danger = true, onConfirm, ...button } = props;
  return (
    <Button
      {...button}
      danger={danger && button.kind !== "plain"}
      onClick={() => {
        pendingConfirmation.value = { title, text, action, danger, onConfirm };
      }}
    />
  );
}

const pastTense = {
  Delete: "deleted",
  Disconnect: "disconnected",
  Remove: "removed",
  Revoke: "revoked",
};

interface DeleteButtonProps {
  verb?: keyof typeof pastTense;
  /** Word for the kind of item, such as `credential`. */
  noun: string;
  /** Name of the item to delete. */
  name: string;
  consequence: string;
  needs?: Permission;
  remove: () => Promise<unknown>;
}

/**
 * Button that deletes one item after a confirmation. With `isIcon`, the button shows only an icon,
 * such as in a table row; otherwise it shows a verb.
 */
export function DeleteButton(props: DeleteButtonProps & { isIcon?: boolean }) {
  const { verb = "Delete", noun, name, consequence, needs = "workspace:admin" } = props;
  const look = props.isIcon
    ? { kind: "plain" as const, compact: true, label: `${verb} ${name}` }
    : { children: verb };
  return (
    <ConfirmButton
      {...look}
      icon="bin"
      needs={needs}
      title={`${verb} ${name}?`}
      text={consequence}
      action={`${verb} ${noun}`.trim()}
      onConfirm={async () => {
        await props.remove();
        showToast(`${name} ${pastTense[verb]}`);
      }}
    />
  );
}

/**
 * Shows the confirmation dialog after a click on a `ConfirmButton`. The console contains this
 * component only once.
 */
export function ConfirmationHost() {
  const request = pendingConfirmation.value;
  return request ? <ConfirmationDialog key={request.title} {...request} /> : null;
}

function ConfirmationDialog({ title, text, action, danger, onConfirm }: ConfirmationRequest) {
  const [error, setError] = useState<unknown>();
  const close = () => {
    pendingConfirmation.value = undefined;
  };

  async function confirm() {
    try {
      await onConfirm();
      close();
    } catch (thrown) {
      setError(thrown);
    }
  }

  return (
    <Dialog title={title} onClose={close}>
      <p>{text}</p>
      <ErrorNotice error={error} />
      <div class="ends">
        <Button onClick={close}>Cancel</Button>
        <Button kind="main" danger={danger === true} onClick={confirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
