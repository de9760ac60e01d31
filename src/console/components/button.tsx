import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { useState } from "preact/hooks";
import { missingPermission, type Permission } from "../data/session.ts";
import { Icon, type IconName } from "./icon.tsx";
import { showError } from "./toasts.ts";

export interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** `main` is the one thing that a screen is for; `plain` stands in rows. */
  kind?: "main" | "plain";
  danger?: boolean;
  compact?: boolean;
  /** What a button that shows an icon alone is called. */
  label?: string;
  type?: "button" | "submit";
  /** Without it the button is disabled, and says which permission is lacking. */
  needs?: Permission | readonly Permission[] | undefined;
  /** Why it is disabled, in a sentence; undefined when it is not. */
  disabledReason?: string | undefined;
  /** While its promise is pending the button is busy; what it rejects with is shown. */
  onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown;
  busy?: boolean;
  pressed?: boolean;
}

export function Button(props: ButtonProps) {
  const { children, icon, kind, danger, compact, label, type = "button", onClick, pressed } = props;
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

  const names = ["button", kind, danger && "danger", compact && "tight", !children && "round"];
  return (
    <button
      type={type}
      class={names.filter(Boolean).join(" ")}
      onClick={press}
      aria-label={label}
      aria-pressed={pressed}
      aria-disabled={reason !== undefined || undefined}
      aria-busy={busy || undefined}
      aria-description={reason}
      data-tip={reason ?? (children ? undefined : label)}
    >
      {busy ? <span class="spinner" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export function whyDisabled({
  needs,
  disabledReason,
}: Pick<ButtonProps, "needs" | "disabledReason">) {
  const permission = missingPermission(...(Array.isArray(needs) ? needs : [needs]));
  return permission === undefined ? disabledReason : `Needs the permission ${permission}`;
}

/** A switch that is on or off, such as whether a destination is enabled. */
export function Switch(props: {
  children: ComponentChildren;
  on: boolean;
  needs?: Permission;
  onChange: (on: boolean) => Promise<unknown>;
}) {
  const { children, on, onChange } = props;
  const [waiting, setWaiting] = useState(false);
  const reason = whyDisabled(props);

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

/** Copies a text, and says so. */
export function CopyButton({ text, what, children }: CopyProps) {
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
      label={copied ? "Copied" : `Copy ${what}`}
      onClick={copy}
    >
      {children}
    </Button>
  );
}

interface CopyProps {
  text: string;
  /** `Copy` and this is what the button is called. */
  what: string;
  children?: ComponentChildren;
}

/** Plain HTTP under a name is no secure context: there is no clipboard but the selection's. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
