import type { ComponentChildren } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { commonTexts } from "../../texts/common.ts";
import { FormErrors } from "./form-errors.ts";

/**
 * Part of a form for the fields that few people need. It is folded until the user opens it. It
 * opens by itself when one of its fields gets an error, from the server or from the browser's own
 * validation.
 */
export function Advanced(props: {
  /** Whether the fields are shown at first, because one of them has a value. */
  isOpen: boolean;
  children: ComponentChildren;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  const [isOpenAtFirst] = useState(props.isOpen);
  const errors = useRef(0);
  // Renders this part again when the form gets an error.
  useContext(FormErrors);
  const open = () => {
    if (details.current) details.current.open = true;
  };
  useEffect(() => {
    const now = details.current?.querySelectorAll(".wrong").length ?? 0;
    if (now > errors.current) open();
    errors.current = now;
  });
  return (
    <details ref={details} class="advanced" open={isOpenAtFirst} onInvalidCapture={open}>
      <summary>{commonTexts.advanced}</summary>
      <div class="form">{props.children}</div>
    </details>
  );
}
