import type { ComponentChildren } from "preact";
import { replaceQuery } from "../../router.ts";
import { Button } from "../button.tsx";
import { type Fields, useFields } from "./use-fields.ts";

/**
 * Filter form of a list. Submitting it writes its values into the query of the page's address or,
 * if they are unchanged, calls `restart` to load the list again.
 */
export function FilterForm<Values extends object>(props: {
  submitted: Values;
  /** Label of the submit button. */
  action: string;
  restart: () => void;
  children: (fields: Fields<Values>) => ComponentChildren;
}) {
  const { submitted, action, restart, children } = props;
  const fields = useFields(submitted);
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault();
        // Submitting an unchanged form loads the list again, because newer items may have come.
        if (JSON.stringify(fields.values) === JSON.stringify(submitted)) restart();
        else replaceQuery({ ...fields.values } as Record<string, string>);
      }}
    >
      <div class="inside search-form">
        {children(fields)}
        <Button kind="main" icon="search" type="submit">
          {action}
        </Button>
      </div>
    </form>
  );
}
