import { ClampedText } from "../components/clamped-text.tsx";
import { Panel } from "../components/layout.tsx";
import { type Column, column, narrowColumn, numberColumn, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import type { DeadLetter } from "../data/model.ts";
import { formatDuration } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { deadLetterTexts } from "../texts/dead-letters.ts";

type FailedAttempt = NonNullable<DeadLetter["failedAttempts"]>[number];

const columns: Column<FailedAttempt>[] = [
  narrowColumn(commonTexts.time, ({ at }) => <Time at={at} exact />),
  numberColumn(deadLetterTexts.duration, ({ durationMs }) => formatDuration(durationMs / 1_000)),
  numberColumn(deadLetterTexts.httpStatus, ({ status }) => status ?? commonTexts.noFigure),
  column(commonTexts.reason, ({ reason }) => <ClampedText text={reason} />),
];

/** Lists the first and the last attempts to deliver an event, with their times and reasons. */
export function AttemptList({ letter }: { letter: DeadLetter }) {
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
