import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Button, type ButtonProps } from "./button.tsx";
import { ErrorNotice } from "./error-notice.tsx";

/** A dialog over the page; Escape and a click beside it close it. */
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
  /** What the button says that does it. */
  action: string;
  /** False for what loses nothing. */
  danger?: boolean;
  /** Done while the dialog is open; what it rejects with is shown in it. */
  onConfirm: () => Promise<unknown>;
}

const pendingConfirmation = signal<ConfirmationRequest | undefined>(undefined);

/** A button that asks before it does what cannot be taken back. */
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

/** Where the dialog of an `AskingButton` appears. */
export function ConfirmationHost() {
  const asked = pendingConfirmation.value;
  return asked ? <ConfirmationDialog key={asked.title} {...asked} /> : null;
}

function ConfirmationDialog({ title, text, action, danger, onConfirm }: ConfirmationRequest) {
  const [error, setError] = useState<unknown>();
  const close = () => {
    pendingConfirmation.value = undefined;
  };

  async function act() {
    try {
      await onConfirm();
      close();
    } catch (fault) {
      setError(fault);
    }
  }

  return (
    <Dialog title={title} onClose={close}>
      <p>{text}</p>
      <ErrorNotice error={error} />
      <div class="ends">
        <Button onClick={close}>Cancel</Button>
        <Button kind="main" danger={danger === true} onClick={act}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
