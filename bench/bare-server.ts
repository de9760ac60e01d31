/**
 * Bare Bun server, the lower bound: answers every request with the GIF, parses and stores nothing.
 */
import { gifAnswer, serveGif } from "./gif-server.ts";

serveGif(gifAnswer);
