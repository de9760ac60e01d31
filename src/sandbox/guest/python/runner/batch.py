"""Runs a program on the events of a batch, and collects the outcome of each event."""

import types

from . import deadline
from .user_errors import event_fault, plain_fault
from .json_text import decoded, encoded, utf8
from .limits import ANSWER_OUTPUTS_MAX, OUTPUT_CHARS_MAX, OUTPUTS_MAX
from .program import LoadFailure

NEVER_SETTLED = "Timed out"
_NOT_AN_OBJECT = "returned event from transformEvent(event) is not an object"
_ITEM_NOT_AN_OBJECT = "returned event in events array from {} is not an object"
_NOT_A_LIST = "returned events from transformBatch(event) is not an array"
# Keys of the values in a row of metadata: `ownMetadataKeys` of the host.
_OWN_METADATA = ("messageId", "rudderId", "receivedAt")


class Batch:
    """One run of a program on a batch.

    `outcomes` has one entry per event: its outputs (a list of bytes), its error (a dict, called
    fault), or None while it has no outcome.

    `stopped` is the reason why some entries are None. "timeout": the time was used up, and
    `culprit` is the index of the event that was running, if that is known. "full": all outputs
    together are too large for one reply. "failed": transformBatch has raised `failure`.
    """

    def __init__(self, program, events, metadata_json):
        self.outcomes = [None] * len(events)
        self.stopped = None
        self.culprit = None
        self.failure = None
        self._program = program
        self._events = events
        # Read before user code can change the events.
        self._ids = [_id_of(event) for event in events]
        self._metadata_json = metadata_json
        self._metadata = None
        self._rows = {}
        self._output_chars = 0
        self._outputs = 0
        self.current = None

    def run(self):
        if self._program.entry_point == "transformEvent":
            is_expired = deadline.limited(self._run_events)
        else:
            is_expired = deadline.limited(self._run_batch)
        if is_expired:
            self.stopped = "timeout"
            self.culprit = self.current
            if self.current is not None:
                self.outcomes[self.current] = None

    def metadata(self, event):
        """Returns the metadata of an event. The event whose function is being called has its own,
        unless its messageId was changed. Other events are found by the messageId that they had when
        they arrived, and the last one of several with the same messageId is returned. An event
        without a messageId, such as a test event, is found by its object identity.
        """
        if self._metadata is None:
            self._metadata = decoded(str(self._metadata_json, "utf-8"))
            self._rows = {
                identity: row for row, identity in enumerate(self._ids) if identity is not None
            }
        identity = _id_of(event)
        current = self.current
        if current is not None and self._events[current] is event and self._ids[current] == identity:
            row = current
        elif identity is None:
            row = self._nameless_row(event)
        else:
            row = self._rows.get(identity)
        if row is None:
            return {}
        shared, rows = self._metadata
        number, *own = rows[row]
        return {**shared[number], **dict(zip(_OWN_METADATA, own))}

    def _nameless_row(self, event):
        for row, given in enumerate(self._events):
            if given is event and self._ids[row] is None:
                return row
        return None

    # --- transformEvent ---

    def _run_events(self):
        transform = self._program.transform
        metadata = self.metadata
        for index, event in enumerate(self._events):
            self.current = index
            try:
                returned = transform(event, metadata)
                # The usual case is fast: the code returns a dict and is not async.
                if type(returned) is dict:
                    outcome = [encoded(returned)]
                else:
                    outcome = _outputs(_settled(returned))
            except BaseException as error:
                outcome = self._fault(error)
            # User code may have caught Expired: this event has used up the time of the whole batch.
            if deadline.expired or not self._keep(index, outcome):
                return

    def _keep(self, index, outcome):
        """Stores the outcome of an event. Returns False when the reply has no room for it, so that
        the event has to run again for another reply.
        """
        if isinstance(outcome, list):
            count = len(outcome)
            chars = sum(map(len, outcome)) + count
            if count > OUTPUTS_MAX:
                outcome = _too_many(count)
            elif chars > OUTPUT_CHARS_MAX:
                outcome = plain_fault(
                    f"Output of one event is larger than {OUTPUT_CHARS_MAX} characters"
                )
            elif (
                self._output_chars + chars > OUTPUT_CHARS_MAX
                or self._outputs + count > ANSWER_OUTPUTS_MAX
            ):
                self.stopped = "full"
                return False
            else:
                self._output_chars += chars
                self._outputs += count
                # Outputs are encoded one by one: joined to one text, a single emoji would make all of
                # its characters take four bytes.
                outcome = list(map(utf8, outcome))
        self.outcomes[index] = outcome
        return True

    # --- transformBatch ---

    def _run_batch(self):
        count = len(self._events)
        # An event that runs alone is to blame when the time is used up.
        self.current = 0 if count == 1 else None
        try:
            returned = _settled(self._program.transform(list(self._events), self.metadata))
            outcomes = self._assigned(returned)
        except BaseException as error:
            outcomes = self._fault(error)
        if deadline.expired:
            return
        if isinstance(outcomes, dict):
            # An error of the whole batch is the error of an event only if that ran alone.
            if count > 1:
                self.stopped = "failed"
                self.failure = outcomes
                return
            outcomes = [outcomes]
        for index, outcome in enumerate(outcomes):
            if not self._keep(index, outcome):
                self.outcomes = [None] * count
                return

    def _assigned(self, returned):
        """Returns the outputs of each input event, or one fault for the whole batch. An output
        belongs to the input event with its messageId, or else to the input event of the output
        before it. An item that is not a dict makes the input event at its index fail.
        """
        count = len(self._events)
        if not isinstance(returned, list):
            return plain_fault(_NOT_A_LIST)
        if len(returned) > OUTPUTS_MAX * count:
            return _too_many(len(returned))
        outcomes = [[] for _ in range(count)]
        # The first of the events with the same id gets the outputs.
        places = {
            identity: index
            for index, identity in reversed([*enumerate(self._ids)])
            if identity is not None
        }
        owner = 0
        for index, item in enumerate(returned):
            if isinstance(item, dict):
                owner = places.get(_id_of(item), owner)
                if isinstance(outcomes[owner], list):
                    outcomes[owner].append(encoded(item))
            else:
                message = _ITEM_NOT_AN_OBJECT.format("transformBatch(events)")
                outcomes[index if index < count else owner] = plain_fault(message)
        return outcomes

    def _fault(self, error):
        if isinstance(error, LoadFailure):
            return error.fault
        return event_fault(error, self._program.sources)


def _outputs(returned):
    """Returns the outputs in the value that transformEvent returned, or a fault if it is invalid.
    """
    if isinstance(returned, dict):
        return [encoded(returned)]
    if returned is None:
        return []
    if not isinstance(returned, list):
        return plain_fault(_NOT_AN_OBJECT)
    if len(returned) > OUTPUTS_MAX:
        return _too_many(len(returned))
    if not all(isinstance(item, dict) for item in returned):
        return plain_fault(_ITEM_NOT_AN_OBJECT.format("transformEvent(event)"))
    return [encoded(item) for item in returned]


def _too_many(count):
    return plain_fault(f"Expected at most {OUTPUTS_MAX} outputs of one event, got {count}")


def _id_of(event):
    """Returns the messageId of an event as text. Returns None when it is no text and no number."""
    identity = event.get("messageId") if isinstance(event, dict) else None
    if type(identity) in (int, float):
        return str(identity)
    return identity if isinstance(identity, str) else None


def _settled(returned):
    """Runs a coroutine to its end and returns its result. Returns any other value unchanged. Raises
    TimeoutError for a coroutine that suspends, because there is nothing it could wait for.
    """
    if type(returned) is not types.CoroutineType:
        return returned
    try:
        returned.send(None)
    except StopIteration as done:
        return done.value
    returned.close()
    raise TimeoutError(NEVER_SETTLED)
