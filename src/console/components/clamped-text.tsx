import { useEffect, useRef, useState } from "preact/hooks";
import { commonTexts } from "../texts/common.ts";

/** Shows the first two lines of a text, and a button for the rest if there is more. */
export function ClampedText({ text, tone = "" }: { text: string; tone?: "bad" | "quiet" | "" }) {
  const content = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const shown = content.current;
    if (shown === null) return;
    const observer = new ResizeObserver(() => {
      if (shown.classList.contains("clamp")) setCut(shown.scrollHeight > shown.clientHeight + 1);
    });
    observer.observe(shown);
    return () => observer.disconnect();
  }, [text]);
  return (
    <>
      <span ref={content} class={`${isOpen ? "whole" : "clamp"} ${tone}`}>
        {text}
      </span>
      {(isCut || isOpen) && (
        <button type="button" class="more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? commonTexts.showLess : commonTexts.showAll}
        </button>
      )}
    </>
  );
}
