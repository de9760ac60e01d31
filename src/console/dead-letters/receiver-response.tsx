import { CodeBlock } from "../components/code-block.tsx";
import { FactList } from "../components/layout.tsx";
import type { ReceiverResponse } from "../data/model.ts";
import { deadLetterTexts } from "../texts/dead-letters.ts";

/** Shows a receiver's response below a line that folds and unfolds it. */
export function FoldedResponse(props: {
  response: ReceiverResponse;
  title?: string;
  isOpen?: boolean;
}) {
  const { response, title = deadLetterTexts.response, isOpen = false } = props;
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      <div class="stack close">
        <ResponseDetails response={response} />
      </div>
    </details>
  );
}

/** Shows what a receiver answered to a failed delivery: status or error code, headers and body. */
export function ResponseDetails({ response }: { response: ReceiverResponse }) {
  const { status, code, headers = {}, body, isCut, isSample } = response;
  const facts: [string, string][] = Object.entries(headers);
  if (code !== undefined) facts.unshift([deadLetterTexts.errorCode, code]);
  if (status !== undefined) facts.unshift([deadLetterTexts.httpStatus, String(status)]);
  return (
    <>
      {isSample && <p class="notice">{deadLetterTexts.responseIsSample}</p>}
      {facts.length > 0 && <FactList facts={facts} />}
      {body ? (
        <CodeBlock text={body} name={deadLetterTexts.responseNoun} wrap />
      ) : (
        <p class="quiet small">{deadLetterTexts.emptyResponse}</p>
      )}
      {isCut && <p class="quiet small">{deadLetterTexts.responseIsCut}</p>}
    </>
  );
}
