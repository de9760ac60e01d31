import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { optionsOf, SelectField } from "../components/forms/fields.tsx";
import { Loaded } from "../components/loaded.tsx";
import { listAllTransformations } from "../data/list-all.ts";
import { addSampleEvent } from "../data/sample-events.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { testCaseTexts } from "../texts/test-cases.ts";

/**
 * Button that makes a test case of an event: the user chooses a transformation, and its editor opens
 * with a new test case that has the event as input. `isOutput` says that the event is an output of
 * code, which is no input.
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
  const [id, setId] = useState("");
  const resource = useResource(listAllTransformations, []);
  return (
    <Dialog title={testCaseTexts.makeTestCase} onClose={onClose}>
      <p>{testCaseTexts.chooseTransformation}</p>
      <Loaded resource={resource}>
        {(all) =>
          all.length === 0 ? (
            <p class="quiet">{testCaseTexts.noTransformations}</p>
          ) : (
            <>
              <SelectField
                label={testCaseTexts.transformation}
                value={id || all[0]!.id}
                options={optionsOf(all)}
                onChange={setId}
              />
              <div class="ends">
                <Button onClick={onClose}>{commonTexts.cancel}</Button>
                <Button
                  kind="main"
                  onClick={() => {
                    addSampleEvent(event);
                    onClose();
                    navigate(hrefTo("transformations", id || all[0]!.id, { testCase: "new" }));
                  }}
                >
                  {testCaseTexts.openEditor}
                </Button>
              </div>
            </>
          )
        }
      </Loaded>
    </Dialog>
  );
}
