/** Base of the bare servers: answers every request with one GIF, on a free port that it prints. */
export const gif = Buffer.from(
  "R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==",
  "base64",
);
const headers = { "content-type": "image/gif", "cache-control": "no-store" };

export const gifAnswer = () => new Response(gif, { headers });

export function serveGif(fetch: (request: Request) => Response | Promise<Response>): void {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
  process.stdout.write(`${server.port}\n`);
}
