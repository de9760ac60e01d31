import { useState } from "preact/hooks";
import { CodeBlock } from "../components/code-block.tsx";
import { SegmentedControl } from "../components/layout.tsx";
import type { Source } from "../data/model.ts";

type SnippetKind = "script" | "image" | "curl";
const snippetKinds = [
  { value: "script", text: "Script" },
  { value: "image", text: "Image" },
  { value: "curl", text: "curl" },
] as const;

const hints: Record<SnippetKind, string> = {
  script:
    "Sends a page event; call pixel() for other events. The parameter n makes each URL unique: browsers request the same image only once per page.",
  image: "One view per page load; works in email, where scripts do not run.",
  curl: "From a terminal or a server. 200 means that the event is stored.",
};

/** Code that sends events of the source, to paste into a page, an email or a terminal. */
export function Snippet({ source, dataPlane }: { source: Source; dataPlane: string }) {
  const [kind, setKind] = useState<SnippetKind>("script");
  const text = snippetOf[kind](dataPlane, source.writeKey);
  return (
    <>
      <div class="row far">
        <SegmentedControl
          label="Kind of snippet"
          value={kind}
          options={snippetKinds}
          onChange={setKind}
        />
      </div>
      <CodeBlock text={text} name="snippet" wrap />
      <p class="quiet small">{hints[kind]}</p>
    </>
  );
}

const snippetOf: Record<SnippetKind, (dataPlane: string, writeKey: string) => string> = {
  script: (dataPlane, writeKey) => `<script>
  const random = () => Math.random().toString(36).slice(2);
  const anonymousId = (localStorage.visitor ??= random());
  const pixel = (type, fields) => {
    const all = { writeKey: "${writeKey}", anonymousId, ...fields };
    const query = new URLSearchParams({ ...all, n: random() });
    new Image().src =
      \`${dataPlane}/pixel/v1/\${type}?\${query}\`;
  };
  pixel("page", { name: document.title });
</script>`,
  image: (dataPlane, writeKey) =>
    `<img src="${dataPlane}/pixel/v1/page?writeKey=${writeKey}&amp;anonymousId=VISITOR_ID&amp;name=Home" width="1" height="1" alt="">`,
  curl: (dataPlane, writeKey) =>
    `curl -G "${dataPlane}/pixel/v1/track" \\
  -d writeKey=${writeKey} \\
  -d anonymousId=visitor-1 \\
  --data-urlencode "event=Signed up" \\
  -d properties.plan=pro`,
};
