import { Button, CopyableCode } from "../components/button.tsx";
import { CodeBlock, JsonBlock } from "../components/code-block.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { NamedLink } from "../components/item-link.tsx";
import { ClampedText, FactList, Loaded, Panel, ScreenHeader } from "../components/layout.tsx";
import { ActionMenu } from "../components/menu.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { eventName } from "../data/event-name.ts";
import type { DeadLetter } from "../data/model.ts";
import { addSampleEvent } from "../data/sample-events.ts";
import { useAnswer } from "../data/use-resource.ts";
import { formatCount, formatDuration } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { MakeTestCase } from "../testing/make-test-case.tsx";
import { commonTexts } from "../texts/common.ts";
import { deadLetterTexts } from "../texts/dead-letters.ts";
import { type BulkAction, postAction } from "./bulk-actions.tsx";
import { StageBadge } from "./group-list.tsx";
import type { LetterListQuery } from "./letter-list.tsx";
import { ResponseDetails } from "./receiver-response.tsx";

/**
 * Screen of one dead letter (an event that was given up): why it failed, the delivery attempts, and
 * the event. `list` is the list that the back link opens.
 */
export function DeadLetterPage({ id, list }: { id: string; list: LetterListQuery }) {
  const resource = useAnswer("GET /v2/dead-letters/{id}", { params: { id } });
  const value = resource.value?.deadLetter;
  return (
    <>
      <ScreenHeader
        title={value ? eventName(value.event) : deadLetterTexts.deadLetter}
        parent={{ href: hrefTo("dead-letters", list), text: commonTexts.deadLetters }}
        status={value && <StageBadge stage={value.stage} />}
      >
        {value && <LetterActions letter={value} list={list} />}
      </ScreenHeader>
      <Loaded resource={resource}>
        {({ deadLetter }) => <LetterDetails letter={deadLetter} />}
      </Loaded>
    </>
  );
}

function LetterDetails({ letter }: { letter: DeadLetter }) {
  const { reason, line, column, stage, event, response } = letter;
  return (
    <div class="columns">
      <div class="stack">
        <Panel title={deadLetterTexts.failureReason}>
          <CodeBlock text={reason} name={deadLetterTexts.reasonNoun} wrap />
          {line !== undefined && (
            <p>
              {deadLetterTexts.codePosition(line, column)} <OpenInEditor letter={letter} />
            </p>
          )}
        </Panel>
        {response && (
          <Panel title={deadLetterTexts.response}>
            <ResponseDetails response={response} />
          </Panel>
        )}
        <AttemptList letter={letter} />
        <Panel title={stage === "deliver" ? deadLetterTexts.eventToDeliver : commonTexts.event}>
          <JsonBlock value={event} name={commonTexts.eventNoun} />
        </Panel>
      </div>
      <Panel title={deadLetterTexts.deadLetter}>
        <LetterFacts letter={letter} />
      </Panel>
    </div>
  );
}

function LetterFacts({ letter }: { letter: DeadLetter }) {
  const { sourceId, destinationId, messageId, attempts, receivedAt, createdAt } = letter;
  return (
    <FactList
      facts={[
        [commonTexts.source, <NamedLink kind="source" id={sourceId} />],
        [commonTexts.destination, <NamedLink kind="destination" id={destinationId} />],
        [deadLetterTexts.attempts, formatCount(attempts)],
        [commonTexts.received, <Time at={receivedAt} />],
        [deadLetterTexts.failedAt, <Time at={createdAt} />],
        [
          commonTexts.messageId,
          <CopyableCode value={messageId} name={deadLetterTexts.messageIdNoun} />,
        ],
      ]}
    />
  );
}

/**
 * Link to the transformation of the dead letter's destination. A click also adds the event to the
 * sample events, on which the user can run the code.
 */
function OpenInEditor({ letter }: { letter: DeadLetter }) {
  const { destinationId, event, line, column } = letter;
  const params = { id: destinationId };
  const { value } = useAnswer("GET /v2/destinations/{id}/transformation", { params });
  if (value === undefined) return null;
  return (
    <a
      href={hrefTo("transformations", value.transformationId, { line, column })}
      onClick={() => addSampleEvent(event)}
    >
      {commonTexts.openInEditor}
    </a>
  );
}

function LetterActions({ letter, list }: { letter: DeadLetter; list: LetterListQuery }) {
  async function act(action: BulkAction, done: string): Promise<void> {
    const count = await postAction(action, { ids: [letter.id] });
    if (count === 0) throw new Error(deadLetterTexts.gone);
    showToast(done);
    navigate(hrefTo("dead-letters", list));
  }
  return (
    <>
      {letter.line === undefined && letter.transformationVersionId && (
        <OpenInEditor letter={letter} />
      )}
      <MakeTestCase event={letter.event} isOutput={letter.stage === "deliver"} />
      <Button
        icon="turn"
        needs="events:replay"
        onClick={() => act("replay", deadLetterTexts.eventRequeued)}
      >
        {deadLetterTexts.replay}
      </Button>
      <ActionMenu>
        <ConfirmButton
          icon="bin"
          needs="events:replay"
          title={deadLetterTexts.purgeOneQuestion}
          text={deadLetterTexts.purgeOneConsequence}
          action={deadLetterTexts.purge}
          onConfirm={() => act("purge", deadLetterTexts.deadLetterDeleted)}
        >
          {deadLetterTexts.purge}
        </ConfirmButton>
      </ActionMenu>
    </>
  );
}

type FailedAttempt = NonNullable<DeadLetter["failedAttempts"]>[number];

const columns: Column<FailedAttempt>[] = [
  column.narrow(commonTexts.time, ({ at }) => <Time at={at} exact />),
  column.number(deadLetterTexts.duration, ({ durationMs }) => formatDuration(durationMs / 1_000)),
  column.number(deadLetterTexts.httpStatus, ({ status }) => status ?? commonTexts.noFigure),
  column.plain(commonTexts.reason, ({ reason }) => <ClampedText text={reason} />),
];

/**
 * Lists failed attempts to deliver the event, with their reasons. If there were many, only the
 * first and the last ones are stored.
 */
function AttemptList({ letter }: { letter: DeadLetter }) {
  const { attempts, failedAttempts = [] } = letter;
  if (failedAttempts.length === 0) return null;
  return (
    <Panel title={deadLetterTexts.attempts} flush>
      <Table
        label={deadLetterTexts.attempts}
        columns={columns}
        rows={failedAttempts}
        keyOf={({ at, reason }) => at + reason}
      />
      {attempts > failedAttempts.length && (
        <p class="inside quiet small">
          {deadLetterTexts.attemptsShown(failedAttempts.length, attempts)}
        </p>
      )}
    </Panel>
  );
}
