import { useEffect, useState } from "preact/hooks";
import { exportsOf } from "../editor/complete.ts";
import { messageOf } from "../parts/fault.tsx";
import { tell, tellError } from "../parts/messages.ts";
import { picked } from "../picked.ts";
import { lacking } from "../session.ts";
import { isPython, type Kind, libraries, type Opened } from "./kinds.ts";
import { eventsIn, isFailed, type Report, run } from "./run.ts";
import { forget, useKept } from "./unsaved.ts";

/** A place in the code, or in that of a library. */
export interface Shown {
  line: number;
  library: string | undefined;
}

/** What somebody writes: code, events to run it over, and for a library what tries it. */
export function useTexts({ kind, newest, at }: Opened) {
  const name = `code ${newest.id}`;
  const [code, setCode] = useKept(name, newest.code);
  const [events, setEvents] = useKept(`events ${newest.id}`, "");
  const [trial, setTrial] = useKept(`trial ${newest.id}`, trialOf(kind, newest));
  const own = kind === libraries ? newest.importName : undefined;
  const [shown, setShown] = useState<Shown>();

  useEffect(() => {
    if (at === undefined) return;
    // Somebody comes from an event that failed here.
    const [latest] = picked.value;
    if (latest) setEvents(JSON.stringify(latest.event, null, 2));
    setShown({ line: at, library: own });
  }, [at]);

  return {
    ...{ code, setCode, events, setEvents, trial, setTrial, own, shown, setShown },
    isChanged: code !== newest.code,
    /** What is stored is what counts again. */
    discard() {
      setCode(newest.code);
      forget(name);
    },
    stored: () => forget(name),
  };
}

type Texts = ReturnType<typeof useTexts>;

/** Running, saving and publishing what is written; one of it at a time. */
export function useWork(opened: Opened, texts: Texts) {
  const { kind } = opened;
  const { isChanged } = texts;
  const [report, setReport] = useState<Report>();
  const [fault, setFault] = useState<unknown>();
  const [busy, setBusy] = useState<"run" | "save">();
  const [wrong, setWrong] = useState<string>();
  /** What the tests found before publishing was asked for. */
  const [asked, setAsked] = useState<Report>();

  async function doing(what: "run" | "save", work: () => Promise<unknown>): Promise<void> {
    if (busy !== undefined) return;
    setBusy(what);
    await work().catch(tellError);
    setBusy(undefined);
  }

  /** Undefined when the test events are none, or the server could not run them. */
  async function tried(): Promise<Report | undefined> {
    try {
      eventsIn(texts.events);
      setWrong(undefined);
    } catch (error) {
      setWrong(messageOf(error));
      return undefined;
    }
    try {
      const { newest } = opened;
      const { code, trial, events } = texts;
      const answer = await run({ kind, newest, code, trial, events: eventsIn(events) });
      setReport(answer);
      setFault(undefined);
      return answer;
    } catch (error) {
      setFault(error);
      return undefined;
    }
  }

  return {
    ...{ report, fault, busy, wrong, asked },
    run: () => void doing("run", tried),
    save() {
      if (lacking(kind.edit) !== undefined) return;
      if (isChanged) void doing("save", () => store(opened, texts, false));
      else tell("Nothing has changed");
    },
    ask: () =>
      doing("run", async () => {
        const answer = await tried();
        if (answer !== undefined && !isFailed(answer)) setAsked(answer);
      }),
    leave: () => setAsked(undefined),
    async publish() {
      await store(opened, texts, true);
      setAsked(undefined);
    },
  };
}

async function store(
  { kind, newest, reload }: Opened,
  { code, events, isChanged, stored }: Texts,
  publish: boolean,
): Promise<void> {
  const { description, language, id } = newest;
  const given = eventsIn(events);
  const tested = given.length > 0 ? { events: given } : {};
  // What is stored already is published as it is, without one more revision.
  const { warnings = [] } =
    publish && !isChanged
      ? await kind.publish(newest.versionId, tested.events)
      : await kind.save(id, { code, description, language, ...tested }, publish);
  stored();
  tell(
    publish
      ? ["Published: it is live from the next batch on", ...warnings].join(". ")
      : "Saved as a draft",
  );
  await reload();
}

/** A transformation that uses a library, to begin with. */
function trialOf(kind: Kind, { importName = "", language, code }: Opened["newest"]): string {
  if (kind !== libraries) return "";
  if (isPython(language)) {
    return `import ${importName}\n\ndef transformEvent(event, metadata):\n    return event\n`;
  }
  const [first = "name"] = exportsOf(code, "javascript");
  return `import { ${first} } from "${importName}";

export function transformEvent(event) {
  return event;
}
`;
}
