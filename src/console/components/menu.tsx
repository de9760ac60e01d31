import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { commonTexts } from "../texts/common.ts";
import { Icon } from "./icon.tsx";

/**
 * Button that opens a menu with further actions of a screen, such as deletions. The menu closes
 * when the user presses Escape, chooses an action, or clicks or focuses an element outside of the
 * menu.
 */
export function ActionMenu({ children }: { children: ComponentChildren }) {
  const details = useRef<HTMLDetailsElement>(null);
  const close = () => {
    const menu = details.current;
    if (!menu?.open) return;
    const hadFocus = menu.contains(document.activeElement);
    menu.open = false;
    // A dialog that the action opens gives the focus back to the button.
    if (hadFocus) menu.querySelector("summary")?.focus();
  };
  useEffect(() => {
    const onPointer = (event: Event) => {
      if (!details.current?.contains(event.target as Node)) close();
    };
    addEventListener("pointerdown", onPointer);
    return () => removeEventListener("pointerdown", onPointer);
  }, []);
  return (
    <details
      ref={details}
      class="menu"
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget as Node)) close();
      }}
    >
      <summary class="button round" aria-label={commonTexts.moreActions}>
        <Icon name="more" />
      </summary>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside are the controls */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key press on a button is a click, too */}
      <div class="menu-items" onClick={close}>
        {children}
      </div>
    </details>
  );
}
