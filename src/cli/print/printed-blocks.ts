import { guidePages } from "../../api/document/guide-pages.ts";

/** A code block that `pixelmill print` prints. A page of the guide contains it. */
interface PrintedBlock {
  topic: string;
  /**
   * Path of the file whose whole content is this block. Undefined if the block is only a part of a
   * file.
   */
  file: string | undefined;
  text: string;
}

/** Matches a code block after an HTML comment that names its topic and, optionally, its file. */
const BLOCK = /^<!-- printed: (\w+)(?: (\S+))? -->\n+```\w*\n(.*?)^```$/gms;

/** Returns the code blocks for a topic from the guide's pages, which the executable contains. */
export async function printedBlocks(topic: string): Promise<PrintedBlock[]> {
  const pages = await Promise.all([...guidePages.values()].map((load) => load()));
  return pages.flatMap(({ default: markdown }) =>
    [...markdown.matchAll(BLOCK)]
      .map(([, found = "", file, text = ""]) => ({ topic: found, file, text }))
      .filter((block) => block.topic === topic),
  );
}
