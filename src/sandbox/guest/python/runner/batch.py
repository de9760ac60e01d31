"""Runs a program over the events of a batch and collects what becomes of each."""

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


class Batch:
    """One run. `outcomes` has per event its outputs (bytes), its fault, or None: it is not done.

    `stopped` says why some are None: "timeout", where `culprit` is the event that was running if
    that is known, "full": the output of all together is too large, or "failed": transformBatch
    did, with `failure`.
    """

    def __init__(self, program, events, metadata_json):
        self.outcomes = [None] * len(events)
        self.stopped = None
        self.culprit = None
        self.failure = None
        self._program = program
        self._events = events
        # Before user code changes them.
        self._ids = [event.get("messageId") if type(event) is dict else None for event in events]
        self._metadata_json = metadata_json
        self._metadata = None
        self._nameless = []
        self._output_chars = 0
        self._outputs = 0
        self.current = None

    def run(self):
        deadline.start()
        try:
            if self._program.entry_point == "transformEvent":
                self._run_events()
            else:
                self._run_batch()
        except deadline.Expired:
            pass
        deadline.stop()
        if deadline.expired:
            self.stopped = "timeout"
            self.culprit = self.current
            if self.current is not None:
                self.outcomes[self.current] = None

    def metadata(self, event):
        """By the messageId that the event had when it came in; the last of equal ones wins. An
        event that came without one, as test events do, is known as the object that it is.
        """
        if self._metadata is None:
            every = decoded(self._metadata_json.decode())
            self._metadata = {
                identity: one for identity, one in zip(self._ids, every) if type(identity) is str
            }
            self._nameless = [
                (given, one)
                for given, identity, one in zip(self._events, self._ids, every)
                if type(identity) is not str
            ]
        identity = _id_of(event)
        if identity is not None:
            return dict(self._metadata.get(identity, ()))
        return next((dict(one) for given, one in self._nameless if given is event), {})

    # --- transformEvent ---

    def _run_events(self):
        transform = self._program.transform
        metadata = self.metadata
        for index, event in enumerate(self._events):
            self.current = index
            try:
                returned = transform(event, metadata)
                # Most return a dict, and most code returns at once.
                if type(returned) is dict:
                    outcome = [encoded(returned)]
                else:
                    outcome = _outputs(_settled(returned))
            except BaseException as error:
                outcome = self._fault(error)
            # Also when user code caught it: this event has used up the time of all.
            if deadline.expired or not self._keep(index, outcome):
                return

    def _keep(self, index, outcome):
        """False when it has to be run again without the others."""
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
                # Each by itself: one emoji would make all of them four bytes a character.
                outcome = list(map(utf8, outcome))
        self.outcomes[index] = outcome
        return True

    # --- transformBatch ---

    def _run_batch(self):
        count = len(self._events)
        # Alone it is to blame for its time.
        self.current = 0 if count == 1 else None
        try:
            returned = _settled(self._program.transform(list(self._events), self.metadata))
            outcomes = self._assigned(returned)
        except BaseException as error:
            outcomes = self._fault(error)
        if deadline.expired:
            return
        if isinstance(outcomes, dict):
            # An error of the whole batch is an event's own only when that ran alone.
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
        """Outputs by input, or the fault of all. An output belongs to the input with its
        messageId, else to that of the output before it; what is not a dict, to the input at its
        place, which fails.
        """
        count = len(self._events)
        if not isinstance(returned, list):
            return plain_fault(_NOT_A_LIST)
        if len(returned) > OUTPUTS_MAX * count:
            return _too_many(len(returned))
        outcomes = [[] for _ in range(count)]
        # Of equal ids the first has the place.
        places = {
            identity: index
            for index, identity in reversed([*enumerate(self._ids)])
            if type(identity) is str
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
    """What a transformEvent returned, as its outputs, or as the fault that it is."""
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
    identity = event.get("messageId") if isinstance(event, dict) else None
    return identity if isinstance(identity, str) else None


def _settled(returned):
    """Runs an async function to its end. There is nothing to wait for but other coroutines."""
    if type(returned) is not types.CoroutineType:
        return returned
    try:
        returned.send(None)
    except StopIteration as done:
        return done.value
    returned.close()
    raise TimeoutError(NEVER_SETTLED)
