/** The least that Bun can do for a pixel: the same GIF, no look at the query, nothing kept. */
import { gifAnswer, serveGif } from "./gif-server.ts";

serveGif(gifAnswer);
