import { useState } from "preact/hooks";
import { CodeBlock } from "../components/code-block.tsx";
import { SelectField } from "../components/forms/fields.tsx";
import type { Source } from "../data/model.ts";
import { sourceTexts } from "../texts/sources.ts";
import { type SnippetKind, snippetOf } from "./snippet-code.ts";

const { kinds } = sourceTexts.snippets;
const options = Object.entries(kinds).map(([value, { text }]) => ({ value, text }));

/** Sample code that sends the source's events, for a page, an app, an email or a terminal. */
export function Snippet({ source, dataPlane }: { source: Source; dataPlane: string }) {
  const [kind, setKind] = useState<SnippetKind>("script");
  const text = snippetOf[kind](dataPlane, source.writeKey);
  return (
    <>
      <SelectField
        label={sourceTexts.snippets.label}
        value={kind}
        options={options}
        onChange={(value) => setKind(value as SnippetKind)}
      />
      <CodeBlock text={text} name={sourceTexts.snippetNoun} wrap />
      <p class="quiet small">{kinds[kind].hint}</p>
    </>
  );
}
