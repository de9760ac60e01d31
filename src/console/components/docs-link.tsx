import { currentRoute } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { screenGuides } from "./screen-guides.ts";

/** Link to the documentation page that explains the current screen. */
export function DocsLink() {
  const [screen = ""] = currentRoute.value.segments;
  const page = screenGuides[screen];
  if (page === undefined) return null;
  return (
    <a class="small" href={`/docs/guide/${page}`} target="_blank" rel="noreferrer">
      {commonTexts.guide}
    </a>
  );
}
