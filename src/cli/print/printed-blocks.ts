import { guidePages } from "../../api/document/guide-pages.ts";

/** A block of code in the guide that `pixelmill print` prints. */
interface PrintedBlock {
  topic: string;
  /** Path of the file that the block contains; undefined for a part of a file. */
  file: string | undefined;
  text: string;
}

/** Matches a comment with the topic of the next block, and perhaps a file. */
const BLOCK = /^<!-- printed: (\w+)(?: (\S+))? -->\n+```\w*\n(.*?)^```$/gms;

/** Finds the code blocks of a topic in the guide, which is in the executable. */
export async function printedBlocks(topic: string): Promise<PrintedBlock[]> {
  const pages = await Promise.all([...guidePages.values()].map((load) => load()));
  return pages.flatMap(({ default: markdown }) =>
    [...markdown.matchAll(BLOCK)]
      .map(([, found = "", file, text = ""]) => ({ topic: found, file, text }))
      .filter((block) => block.topic === topic),
  );
}
