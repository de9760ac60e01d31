import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SearchedNameField } from "../components/name-select.tsx";
import { addSampleEvent } from "../data/sample-events.ts";
import { useNameSearch } from "../data/use-name-search.ts";
import { hrefTo, navigate } from "../router.ts";
import { testCaseTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";

/**
 * Button that makes a test case from an event, for a transformation that the user chooses. Disabled
 * if user code returned the event (`isOutput`), because its input is not known.
 */
export function MakeTestCase({ event, isOutput }: { event: unknown; isOutput?: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        icon="check"
        needs="transformations:edit"
        disabledReason={isOutput || event === undefined ? testCaseTexts.noInputKnown : undefined}
        onClick={() => setOpen(true)}
      >
        {testCaseTexts.makeTestCase}
      </Button>
      {isOpen && <ChooseTransformation event={event} onClose={() => setOpen(false)} />}
    </>
  );
}

function ChooseTransformation({ event, onClose }: { event: unknown; onClose: () => void }) {
  const [chosen, setChosen] = useState("");
  const names = useNameSearch("transformation");
  const id = chosen || names.found?.[0]?.id;
  return (
    <Dialog title={testCaseTexts.makeTestCase} onClose={onClose}>
      <p>{testCaseTexts.chooseTransformation}</p>
      <ErrorNotice error={names.error} />
      {names.all === 0 && <p class="quiet">{testCaseTexts.noTransformations}</p>}
      {names.all !== undefined && names.all > 0 && (
        <>
          <SearchedNameField
            label={commonTexts.transformation}
            value={id ?? ""}
            names={names}
            onChange={setChosen}
          />
          <div class="ends">
            <Button onClick={onClose}>{commonTexts.cancel}</Button>
            <Button
              kind="main"
              onClick={() => {
                addSampleEvent(event);
                onClose();
                navigate(hrefTo("transformations", id!, { testCase: "new" }));
              }}
            >
              {commonTexts.openInEditor}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}
