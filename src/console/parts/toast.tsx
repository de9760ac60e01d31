import { Button } from "./button.tsx";
import { FaultText } from "./fault.tsx";
import { Icon } from "./icon.tsx";
import { dismiss, messages } from "./messages.ts";

export function Toasts() {
  return (
    <section class="toasts" aria-live="polite" aria-label="Messages">
      {messages.value.map(({ id, text, error }) => (
        <div class="toast" key={id}>
          <span class={error === undefined ? "good" : "bad"}>
            <Icon name={error === undefined ? "check" : "alert"} />
          </span>
          <div>{error === undefined ? text : <FaultText error={error} />}</div>
          <Button kind="plain" tight icon="close" label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </section>
  );
}
