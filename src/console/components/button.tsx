import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { useState } from "preact/hooks";
import type { Permission } from "../data/model.ts";
import { missingPermission } from "../data/session.ts";
import { commonTexts } from "../texts/common.ts";
import { Icon, type IconName } from "./icon.tsx";
import { showError } from "./toasts.ts";

export interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /**
   * Style of the button: `main` for the primary action of a screen, `plain` for a button without a
   * frame.
   */
  kind?: "main" | "plain";
  danger?: boolean;
  compact?: boolean;
  /** Accessible name of a button that shows only an icon. */
  label?: string;
  /** Keyboard shortcut that does what a click does, such as `Shift+Alt+F`. */
  shortcut?: string;
  type?: "button" | "submit";
  /**
   * Permissions that the button's action needs. The button is disabled if the session lacks one of
   * them.
   */
  needs?: Permission | readonly Permission[] | undefined;
  /** Reason why the button is disabled, for its tooltip. Absent if the button can be clicked. */
  disabledReason?: string | undefined;
  /**
   * Action of the button. If it returns a promise, the button is busy until the promise settles. If
   * the promise rejects, a toast shows the error.
   */
  onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown;
  busy?: boolean;
  pressed?: boolean;
}

export function Button(props: ButtonProps) {
  const { children, icon, kind, danger, compact, label, type = "button", onClick, pressed } = props;
  const { shortcut } = props;
  const [waiting, setWaiting] = useState(false);
  const reason = whyDisabled(props);
  const busy = waiting || props.busy === true;

  async function press(event: TargetedMouseEvent<HTMLButtonElement>) {
    if (reason !== undefined || busy) {
      event.preventDefault();
      return;
    }
    const result = onClick?.(event);
    if (!(result instanceof Promise)) return;
    setWaiting(true);
    await result.catch(showError);
    setWaiting(false);
  }

  const classes = ["button", kind, danger && "danger", compact && "tight", !children && "round"];
  return (
    <button
      type={type}
      class={classes.filter(Boolean).join(" ")}
      onClick={press}
      aria-label={label}
      aria-pressed={pressed}
      aria-disabled={reason !== undefined || undefined}
      aria-busy={busy || undefined}
      aria-description={reason}
      aria-keyshortcuts={shortcut}
      data-tip={reason ?? shortcut ?? (children ? undefined : label)}
    >
      {busy ? <span class="spinner" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/**
 * Link that looks like a button. If the session lacks one of the permissions in `needs`, a disabled
 * button takes its place.
 */
export function LinkButton(
  props: Pick<ButtonProps, "children" | "icon" | "kind" | "compact" | "needs"> & { href: string },
) {
  const { href, ...look } = props;
  const { icon, kind, compact, children } = look;
  if (whyDisabled(look) !== undefined) return <Button {...look} />;
  return (
    <a class={["button", kind, compact && "tight"].filter(Boolean).join(" ")} href={href}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}

function whyDisabled({ needs, disabledReason }: Pick<ButtonProps, "needs" | "disabledReason">) {
  const permission = missingPermission(...(Array.isArray(needs) ? needs : [needs]));
  return permission === undefined ? disabledReason : commonTexts.requires(permission);
}

/**
 * Switch that turns an item on or off, such as a destination. It is disabled without the permission
 * `workspace:admin`.
 */
export function Switch(props: {
  children: ComponentChildren;
  on: boolean;
  onChange: (on: boolean) => Promise<unknown>;
}) {
  const { children, on, onChange } = props;
  const [waiting, setWaiting] = useState(false);
  const reason = whyDisabled({ needs: "workspace:admin" });

  async function press() {
    if (reason !== undefined || waiting) return;
    setWaiting(true);
    await onChange(!on).catch(showError);
    setWaiting(false);
  }

  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={on}
      aria-disabled={reason !== undefined || undefined}
      aria-description={reason}
      aria-busy={waiting || undefined}
      data-tip={reason}
      onClick={press}
    >
      <i />
      {children}
    </button>
  );
}

/** Button that copies a text to the clipboard. */
export function CopyButton({ text, name, children }: CopyProps) {
  const [copied, setCopied] = useState(false);

  async function copy() {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  }

  return (
    <Button
      kind="plain"
      compact
      icon={copied ? "check" : "copy"}
      label={copied ? commonTexts.copied : commonTexts.copy(name)}
      onClick={copy}
    >
      {children}
    </Button>
  );
}

interface CopyProps {
  text: string;
  /** Name of the copied value. Screen readers read the button as `Copy` and this name. */
  name: string;
  children?: ComponentChildren;
}

/** Shows a value in monospace, with a button to copy it. */
export function CopyableCode({ value, name }: { value: string; name: string }) {
  return (
    <>
      <code>{value}</code>
      <CopyButton text={value} name={name} />
    </>
  );
}

/** Button that pauses and resumes the updates of a screen, such as those of the live tail. */
export function PauseButton(props: { isPaused: boolean; onPause: (isPaused: boolean) => void }) {
  const { isPaused, onPause } = props;
  return (
    <Button
      icon={isPaused ? "play" : "pause"}
      pressed={isPaused}
      onClick={() => onPause(!isPaused)}
    >
      {isPaused ? commonTexts.resume : commonTexts.pause}
    </Button>
  );
}

/**
 * Copies a text to the clipboard. Uses `execCommand` over plain HTTP, because browsers have no
 * `navigator.clipboard` there.
 */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
